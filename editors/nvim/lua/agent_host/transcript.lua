-- A session's transcript as a buffer: text is only ever added, at the end or at the end of a tool
-- call's own lines, many deltas at a time. Not here: windows (panel.lua), what the lines of each kind
-- of delta are (render.lua).
local config = require('agent_host.config')
local markdown = require('agent_host.markdown')
local text = require('agent_host.text')

local M = {}

local LINES = vim.api.nvim_create_namespace('agent_host_lines')
local SPIN = vim.api.nvim_create_namespace('agent_host_spinner')
local FRAMES = { '⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏' }

M.FOLDED = '▏ ' -- begins a line that can be folded away
M.OPEN = '▎ ' -- begins a line of a tool that can't

local Transcript = {}
Transcript.__index = Transcript

local function new_buffer()
  local buffer = vim.api.nvim_create_buf(false, true)
  local options = { buftype = 'nofile', bufhidden = 'hide', swapfile = false, modeline = false }
  for name, value in pairs(options) do
    vim.bo[buffer][name] = value
  end
  vim.bo[buffer].undolevels = -1
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].filetype = 'agenthost'
  if config.get().transcript.highlight then markdown.streaming(buffer) end
  return buffer
end

function M.new()
  return setmetatable({ buffer = new_buffer(), length = 0, fence = nil, frame = 1 }, Transcript)
end

-- ---- writing

---Let `work` write, and keep the windows that show the end at the end.
function Transcript:change(work)
  if not vim.api.nvim_buf_is_valid(self.buffer) then return end
  local last = vim.api.nvim_buf_line_count(self.buffer)
  local following = {}
  for _, window in ipairs(vim.fn.win_findbuf(self.buffer)) do
    if vim.api.nvim_win_get_cursor(window)[1] >= last then table.insert(following, window) end
  end
  vim.bo[self.buffer].modifiable = true
  local ok, problem = xpcall(work, debug.traceback)
  vim.bo[self.buffer].modifiable = false
  last = vim.api.nvim_buf_line_count(self.buffer)
  for _, window in ipairs(following) do
    vim.api.nvim_win_set_cursor(window, { last, 0 })
  end
  if not ok then error(problem, 0) end
end

function Transcript:last_row() return vim.api.nvim_buf_line_count(self.buffer) - 1 end

function Transcript:is_empty() return self.length == 0 and self:last_row() == 0 end

local function fence_after(fence, line)
  local mark = line:match('^ ? ? ?(```+)') or line:match('^ ? ? ?(~~~+)')
  if not mark then return fence end
  if not fence then return mark end
  local closes = mark:sub(1, 1) == fence:sub(1, 1) and #mark >= #fence and line:match('^%s*[`~]+%s*$')
  if closes then return nil end
  return fence
end

---Add Markdown at the end of the last line. `prefix` begins each further line.
function Transcript:append(added, prefix)
  local lines = text.lines(added, self.length)
  local row = self:last_row()
  for index = 2, #lines do
    lines[index] = (prefix or M.no_prefix(lines[index])) .. lines[index]
  end
  if not prefix and self.length == 0 then lines[1] = M.no_prefix(lines[1]) .. lines[1] end
  if not prefix and #lines > 1 then self:_watch_fences(row, lines) end
  vim.api.nvim_buf_set_text(self.buffer, row, self.length, row, self.length, lines)
  self.length = #lines > 1 and #lines[#lines] or self.length + #lines[1]
end

---Remember whether a code block is open: the lines before the last one are complete now.
function Transcript:_watch_fences(row, lines)
  local first = vim.api.nvim_buf_get_lines(self.buffer, row, row + 1, false)[1] .. lines[1]
  self.fence = fence_after(self.fence, first)
  for index = 2, #lines - 1 do
    self.fence = fence_after(self.fence, lines[index])
  end
end

---Begin a new line at the end, after an empty one; an open code block of the text before is closed, so
---that it takes nothing else in. Returns its row.
function Transcript:begin(line, opts)
  opts = opts or {}
  local lines = {}
  if not self:is_empty() then
    local last = vim.api.nvim_buf_get_lines(self.buffer, -2, -1, false)[1]
    self.fence = fence_after(self.fence, last)
    if self.fence then table.insert(lines, self.fence) end
    if self.fence or (last ~= '' and not opts.tight) then table.insert(lines, '') end
  end
  self.fence = nil
  table.insert(lines, line)
  local row = self:last_row()
  if self:is_empty() then
    vim.api.nvim_buf_set_lines(self.buffer, 0, 1, false, lines)
  else
    vim.api.nvim_buf_set_lines(self.buffer, row + 1, row + 1, false, lines)
  end
  self.length = #line
  return self:last_row()
end

---Put whole lines after a row. Returns the row of the last one.
function Transcript:insert(row, lines, group)
  local at_end = row == self:last_row()
  vim.api.nvim_buf_set_lines(self.buffer, row + 1, row + 1, false, lines)
  if at_end then self.length, self.fence = #lines[#lines], nil end
  for index, line in ipairs(lines) do
    local name = type(group) == 'function' and group(line) or group
    if type(name) == 'string' then self:paint(row + index, name) end
  end
  return row + #lines
end

---Colour a whole line, above what Markdown's highlighting says.
function Transcript:paint(row, group)
  local line = vim.api.nvim_buf_get_lines(self.buffer, row, row + 1, false)[1] or ''
  vim.api.nvim_buf_set_extmark(self.buffer, LINES, row, 0, { end_col = #line, hl_group = group, priority = 200 })
end

---A mark that moves with a line; `opts` may hold virt_text and hl_group of the line.
---@return integer id
function Transcript:mark(row, opts, id)
  opts = vim.tbl_extend('force', { id = id, priority = 210 }, opts or {})
  if opts.hl_group then
    opts.end_col = #(vim.api.nvim_buf_get_lines(self.buffer, row, row + 1, false)[1] or '')
  end
  if opts.virt_text then opts.virt_text_pos = 'eol' end
  return vim.api.nvim_buf_set_extmark(self.buffer, LINES, row, 0, opts)
end

function Transcript:row_of(id)
  return vim.api.nvim_buf_get_extmark_by_id(self.buffer, LINES, id, {})[1]
end

---Colour everything from a mark to the end: it does not count any more.
function Transcript:void(id)
  local row = self:row_of(id)
  if not row then return end
  local opts = { id = id, end_row = self:last_row(), end_col = self.length, hl_group = 'AgentHostVoid', priority = 220 }
  vim.api.nvim_buf_set_extmark(self.buffer, LINES, row, 0, opts)
end

---What is put before a line of text so that it does not pass for one of a tool's.
function M.no_prefix(line)
  local first = line:sub(1, 3)
  return (first == M.FOLDED:sub(1, 3) or first == M.OPEN:sub(1, 3)) and ' ' or ''
end

-- ---- folds

---'foldexpr' of a transcript's window: what a tool or a thought says can be folded away.
function M.fold_level(lnum)
  return vim.startswith(vim.fn.getline(lnum), M.FOLDED) and '1' or '0'
end

-- ---- the spinner

---Show that something goes on after the last line; nil takes it away.
---@param words string?
function Transcript:spin(words)
  vim.api.nvim_buf_clear_namespace(self.buffer, SPIN, 0, -1)
  if not words then return end
  self.frame = self.frame % #FRAMES + 1
  vim.api.nvim_buf_set_extmark(self.buffer, SPIN, self:last_row(), 0, {
    virt_text = { { ' ' .. FRAMES[self.frame] .. ' ' .. words, 'AgentHostSpinner' } },
    virt_text_pos = 'eol',
  })
end

---Whether more is to come: it is highlighted accordingly.
function Transcript:moving(more)
  if not config.get().transcript.highlight or not vim.api.nvim_buf_is_valid(self.buffer) then return end
  if more then markdown.streaming(self.buffer) else markdown.settled(self.buffer) end
end

function Transcript:frame_now() return FRAMES[self.frame] end

function Transcript:delete()
  if vim.api.nvim_buf_is_valid(self.buffer) then vim.api.nvim_buf_delete(self.buffer, { force = true }) end
end

return M
