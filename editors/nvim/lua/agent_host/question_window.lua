-- A question as a floating window: the title, the options, the parts, what it is about, the diff. The
-- cursor stands on the first option, which is the safe one; closing the window denies, this once.
local config = require('agent_host.config')
local highlights = require('agent_host.highlights')
local text = require('agent_host.text')

local M = {}

local GRACE_MS = 700 -- a window that came by itself takes no key as an answer for so long
local SPACE = vim.api.nvim_create_namespace('agent_host_question')

-- ---- what it says

local function content(question)
  local params = question.params
  local lines, groups, options, parts = {}, {}, {}, {}
  local function add(line, group)
    table.insert(lines, line)
    groups[#lines] = group
    return #lines
  end
  for _, line in ipairs(text.lines((params.title:gsub('\n', ' ')))) do
    add(line, 'AgentHostQuestion')
  end
  add('')
  for index, option in ipairs(params.options) do
    options[add((' %d  %s'):format(index, text.line(option.title)), 'AgentHostOption')] = option
  end
  if params.parts then
    add('')
    for index, part in ipairs(params.parts) do
      local box = question.refused[part.id] and '[ ]' or '[x]'
      parts[add((' %s %s'):format(box, text.line(part.title)), 'AgentHostOption')] = index
    end
  end
  add('')
  if params.diff then
    for _, line in ipairs(text.lines((params.diff:gsub('\n$', '')))) do
      add(line, highlights.of_diff(line) or 'AgentHostBody')
    end
    add('')
  end
  vim.list_extend(lines, text.lines(params.detail))
  return { lines = lines, groups = groups, options = options, parts = parts }
end

local function fill(buffer, shown)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, shown.lines)
  vim.bo[buffer].modifiable = false
  vim.api.nvim_buf_clear_namespace(buffer, SPACE, 0, -1)
  for number, group in pairs(shown.groups) do
    local opts = { end_col = #shown.lines[number], hl_group = group, priority = 200 }
    vim.api.nvim_buf_set_extmark(buffer, SPACE, number - 1, 0, opts)
  end
end

local function hints(question)
  local keys = config.get().keys
  local words = { '1-' .. #question.params.options .. ' chooses', keys.allow .. ' allow', keys.deny .. ' deny' }
  if question.params.allowsReason then table.insert(words, keys.reason .. ' deny, say why') end
  table.insert(words, keys.stop_run .. ' stop')
  if question.params.parts then table.insert(words, keys.part .. ' part') end
  return ' ' .. table.concat(words, ' · ') .. ' '
end

-- ---- the window

local function geometry(lines)
  local width = math.max(math.min(110, vim.o.columns - 6), 20)
  local rows = 0
  for _, line in ipairs(lines) do
    rows = rows + math.max(1, math.ceil(vim.fn.strdisplaywidth(line:sub(1, 4000)) / width))
    if rows > vim.o.lines then break end
  end
  local height = math.max(math.min(rows, math.floor(vim.o.lines * 0.7)), 3)
  local row = math.max(math.floor((vim.o.lines - height) / 2) - 2, 0)
  return { relative = 'editor', width = width, height = height, row = row, col = math.floor((vim.o.columns - width) / 2) }
end

---Whether the question may take the keyboard: never from somebody who is typing.
local function may_focus()
  local setting = config.get().focus_question
  if setting ~= 'auto' then return setting == 'always' end
  return vim.api.nvim_get_mode().mode == 'n' and vim.b.agent_host_session ~= nil
end

---Take the keyboard when the person has stopped typing in the agent's own windows.
local function focus_later(question)
  vim.api.nvim_create_autocmd('InsertLeave', {
    callback = function()
      if question.over then return true end
      vim.schedule(function()
        if question.over or not may_focus() then return end
        question.focus()
        question.came = vim.uv.now()
      end)
    end,
  })
end

local function open_window(question, buffer, lines, count)
  local opts = geometry(lines)
  opts.style, opts.border, opts.zindex = 'minimal', 'rounded', 60
  opts.title = count > 1 and (' The agent asks (1 of %d) '):format(count) or ' The agent asks '
  opts.footer = vim.fn.strcharpart(hints(question), 0, opts.width)
  local focused = may_focus()
  local window = vim.api.nvim_open_win(buffer, focused, opts)
  vim.wo[window].wrap, vim.wo[window].linebreak, vim.wo[window].cursorline = true, true, true
  vim.wo[window].foldenable, vim.wo[window].conceallevel = false, 0
  if not focused then
    vim.notify('agent-host: the agent asks; :AgentHost answer', vim.log.levels.INFO)
    focus_later(question)
  end
  question.came = focused and vim.uv.now() or nil
  return window
end

local function map(buffer, keys, work)
  for _, key in ipairs(type(keys) == 'table' and keys or { keys }) do
    vim.keymap.set('n', key, work, { buffer = buffer, nowait = true, silent = true })
  end
end

---Work that a key does, but not a key that was meant for the window before.
local function meant(question, work)
  return function()
    if vim.uv.now() - (question.came or 0) >= GRACE_MS then work() end
  end
end

local function map_keys(question, buffer, shown)
  local questions, keys = require('agent_host.question'), config.get().keys
  for index, option in ipairs(question.params.options) do
    if index < 10 then map(buffer, tostring(index), meant(question, function() questions.choose(question, option) end)) end
  end
  map(buffer, '<CR>', meant(question, function()
    local option = shown.options[vim.api.nvim_win_get_cursor(0)[1]]
    if option then questions.choose(question, option) end
  end))
  map(buffer, keys.allow, meant(question, function() questions.allow(question, false) end))
  map(buffer, keys.allow_longer, meant(question, function() questions.allow(question, true) end))
  map(buffer, keys.deny, meant(question, function() questions.deny(question) end))
  map(buffer, keys.reason, function() questions.deny_with_reason(question) end)
  map(buffer, keys.stop_run, function() questions.stop(question) end)
  map(buffer, keys.close, function() questions.closed(question) end)
end

---Let parts be taken in and out with a key on their line.
local function map_parts(question, buffer, shown)
  question.accepted = function()
    local ids = {}
    for _, part in ipairs(question.params.parts) do
      if not question.refused[part.id] then table.insert(ids, part.id) end
    end
    return ids
  end
  map(buffer, config.get().keys.part, function()
    local cursor = vim.api.nvim_win_get_cursor(0)
    local part = question.params.parts[shown.parts[cursor[1]] or 0]
    if not part then return end
    question.refused[part.id] = not question.refused[part.id] or nil
    fill(buffer, content(question))
    vim.api.nvim_win_set_cursor(0, cursor)
  end)
end

---@param question table
---@param count integer how many are open
function M.show(question, count)
  local questions = require('agent_host.question')
  question.refused = {}
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden, vim.bo[buffer].modeline, vim.bo[buffer].filetype = 'wipe', false, 'agenthost-question'
  local shown = content(question)
  fill(buffer, shown)
  if config.get().transcript.highlight then pcall(vim.treesitter.start, buffer, 'markdown') end
  local window = open_window(question, buffer, shown.lines, count)
  local first = vim.tbl_count(shown.options) > 0 and math.min(unpack(vim.tbl_keys(shown.options))) or 1
  vim.api.nvim_win_set_cursor(window, { first, 0 })
  map_keys(question, buffer, shown)
  if question.params.parts then map_parts(question, buffer, shown) end
  question.focus = function()
    question.came = nil
    if vim.api.nvim_win_is_valid(window) then vim.api.nvim_set_current_win(window) end
  end
  question.close = function()
    if vim.api.nvim_win_is_valid(window) then vim.api.nvim_win_close(window, true) end
  end
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = buffer,
    once = true,
    callback = function() vim.schedule(function() questions.closed(question) end) end,
  })
end

return M
