-- Keys of a transcript: from one speaker to the next, to the files that it names, to the prompt.
local highlights = require('agent_host.highlights')
local places = require('agent_host.places')
local transcript = require('agent_host.transcript')

local M = {}

local function jump(flags)
  return function()
    local count = vim.v.count1
    vim.cmd("normal! m'")
    for _ = 1, count do
      vim.fn.search('^▌ ', flags)
    end
  end
end

---The lines of the diff around the cursor, without what begins a tool's lines, and which one is meant.
local function diff_here(buffer, row)
  local function line_at(at)
    local line = vim.api.nvim_buf_get_lines(buffer, at - 1, at, false)[1] or ''
    for _, prefix in ipairs({ transcript.OPEN, transcript.FOLDED }) do
      if vim.startswith(line, prefix) then return line:sub(#prefix + 1) end
    end
  end
  local first = row
  while line_at(first) and not vim.startswith(line_at(first), '--- ') do
    first = first - 1
  end
  local lines = {}
  for at = first, row do
    table.insert(lines, line_at(at) or '')
  end
  return lines
end

---Where the line under the cursor leads.
local function place_here(root)
  local buffer, cursor = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)
  local lines = diff_here(buffer, cursor[1])
  if #lines > 1 and highlights.of_diff(lines[1]) then
    local place = places.of_diff(root, lines)[#lines]
    if place then return place end
  end
  return places.named(root, vim.api.nvim_get_current_line(), cursor[2])
end

---The help file; found as well where nobody has made its tags.
function M.help()
  if pcall(vim.cmd.help, 'agent-host-panel') then return end
  local file = vim.api.nvim_get_runtime_file('doc/agent-host.txt', false)[1]
  vim.cmd('split | view ' .. vim.fn.fnameescape(file))
  vim.bo.syntax = 'help'
end

---Set the keys of a session's transcript.
function M.map(session)
  local function set(keys, work, about)
    for _, key in ipairs(keys) do
      vim.keymap.set('n', key, work, { buffer = session.transcript.buffer, silent = true, desc = about })
    end
  end
  set({ ']]' }, jump('W'), 'the next speaker')
  set({ '[[' }, jump('bW'), 'the speaker before')
  set({ '<CR>', 'gd', 'gf' }, function()
    if not places.open(place_here(session.root)) then session:inform('this line names no file') end
  end, 'the file that is named here')
  set({ 'i', 'a' }, function()
    require('agent_host.panel').open(session)
    vim.cmd('startinsert!')
  end, 'write a prompt')
  set({ 'g?' }, M.help, 'help')
end

return M
