-- Windows with lines to read: one for each name, used again when the same is shown anew. Their lines
-- may lead to places in files.
local names = require('agent_host.names')
local places = require('agent_host.places')

local M = {}

local function window_named(name)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.w[window].agent_host_scratch == name then return window end
  end
end

local function open(name)
  local window = window_named(name)
  if window then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd('botright new')
    window = vim.api.nvim_get_current_win()
    vim.w[window].agent_host_scratch = name
  end
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_win_set_buf(window, buffer)
  return buffer
end

---Show lines; q closes them, <CR> goes to the place of a line that has one.
---@param name string what is shown: its window is used again
---@param lines string[]
---@param opts? {filetype?: string, places?: table<integer, {path: string, line?: integer}>, groups?: table<integer, string>}
function M.show(name, lines, opts)
  opts = opts or {}
  local buffer = open(name)
  vim.bo[buffer].buftype, vim.bo[buffer].bufhidden, vim.bo[buffer].modeline = 'nofile', 'wipe', false
  names.set(buffer, 'agent ' .. name)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable, vim.bo[buffer].filetype = false, opts.filetype or ''
  local space = vim.api.nvim_create_namespace('agent_host_scratch')
  for row, group in pairs(opts.groups or {}) do
    vim.api.nvim_buf_set_extmark(buffer, space, row - 1, 0, { end_col = #lines[row], hl_group = group })
  end
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buffer, nowait = true, silent = true })
  if opts.places then
    vim.keymap.set('n', '<CR>', function() places.open(opts.places[vim.api.nvim_win_get_cursor(0)[1]]) end, { buffer = buffer, silent = true })
  end
end

return M
