-- Names of our buffers, as people read them in a status line or a list of buffers.
local text = require('agent_host.text')

local M = {}

---Neovim keeps a buffer under the name that another one had before: it is of no use to anybody.
local function wipe_left_behind(name, buffer)
  if name == '' then return end
  for _, each in ipairs(vim.api.nvim_list_bufs()) do
    local left = each ~= buffer and not vim.api.nvim_buf_is_loaded(each)
    if left and vim.api.nvim_buf_get_name(each) == name then vim.api.nvim_buf_delete(each, { force = true }) end
  end
end

---Name a buffer; one that has the name already is told apart by a number.
---@param buffer integer
---@param words string
function M.set(buffer, words)
  local before = vim.api.nvim_buf_get_name(buffer)
  -- A slash would make a folder of what stands before it.
  local name = text.line(words, 80):gsub('[/\\]', '∕')
  for number = 1, 100 do
    local try = number == 1 and name or ('%s (%d)'):format(name, number)
    if vim.fs.basename(before) == try then return end
    if pcall(vim.api.nvim_buf_set_name, buffer, try) then return wipe_left_behind(before, buffer) end
  end
end

return M
