-- A question by vim.ui.select, for those who have a picker of their own. The diff is opened beside it.
local highlights = require('agent_host.highlights')
local text = require('agent_host.text')

local M = {}

local function show_diff(question)
  if not question.params.diff then return end
  local buffer = vim.api.nvim_create_buf(false, true)
  local lines = text.lines(question.params.diff)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable, vim.bo[buffer].bufhidden, vim.bo[buffer].modeline = false, 'wipe', false
  local space = vim.api.nvim_create_namespace('agent_host_question')
  for row, line in ipairs(lines) do
    local group = highlights.of_diff(line)
    if group then vim.api.nvim_buf_set_extmark(buffer, space, row - 1, 0, { end_col = #line, hl_group = group }) end
  end
  local window = vim.api.nvim_open_win(buffer, false, { split = 'above', height = math.min(#lines, 15) })
  question.close = function()
    if vim.api.nvim_win_is_valid(window) then vim.api.nvim_win_close(window, true) end
  end
end

local function choices(question)
  local questions = require('agent_host.question')
  local items, stops = {}, false
  for _, option in ipairs(question.params.options) do
    stops = stops or option.kind == 'stop'
    table.insert(items, { title = option.title, choose = function() questions.choose(question, option) end })
    if option.kind == 'deny' and question.params.allowsReason then
      local function choose() questions.deny_with_reason(question) end
      table.insert(items, { title = option.title .. ', and say why', choose = choose })
    end
  end
  if not stops then
    table.insert(items, { title = 'Stop the run', choose = function() questions.stop(question) end })
  end
  return items
end

---@param question table
function M.show(question)
  local questions = require('agent_host.question')
  show_diff(question)
  local function ask()
    vim.ui.select(choices(question), {
      prompt = questions.title(question) .. ': ',
      kind = 'agent_host_question',
      format_item = function(item) return text.line(item.title) end,
    }, function(item)
      if question.over then return end
      if not item then return questions.closed(question) end
      item.choose()
    end)
  end
  question.focus = ask
  ask()
end

return M
