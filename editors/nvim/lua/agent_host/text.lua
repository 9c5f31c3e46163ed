-- Text from models and commands, made fit for a buffer: no escape sequence, no control character but
-- newline and tab, no line that is long enough to slow the editor down. Pure.
local M = {}

M.LONGEST_LINE = 2000 -- bytes

local REPLACED = '\239\191\189'

---Text with what a terminal or a bidirectional display would obey taken out or made visible.
---@param text string
---@return string
function M.clean(text)
  if not text:find('[%z\1-\8\11-\31\127\194\226\243]') then return text end
  text = text:gsub('\27%[[0-9;:<=>?]*[ -/]*[@-~]', ''):gsub('\27%][^\7\27\n]*\27?[\7\\]', '')
  text = text:gsub('\r\n', '\n')
  text = text:gsub('[%z\1-\8\11-\31]', function(char) return '\226\144' .. string.char(128 + char:byte()) end)
  text = text:gsub('\127', '\226\144\161'):gsub('\194[\128-\159]', REPLACED)
  text = text:gsub('\226\128[\142\143\168-\174]', REPLACED):gsub('\226\129[\166-\169]', REPLACED)
  return (text:gsub('\243\160[\128\129][\128-\191]', REPLACED))
end

---Breaks a line into pieces of at most LONGEST_LINE bytes; `used` bytes stand before it already.
---@param line string
---@param used integer
---@return string[]
function M.pieces(line, used)
  if used + #line <= M.LONGEST_LINE then return { line } end
  local pieces, from, room = {}, 1, math.max(M.LONGEST_LINE - used, 0)
  while #line - from + 1 > room do
    local to = from + room
    while to > from and to <= #line and line:byte(to) >= 128 and line:byte(to) < 192 do
      to = to - 1
    end
    table.insert(pieces, line:sub(from, to - 1))
    from, room = to, M.LONGEST_LINE
  end
  table.insert(pieces, line:sub(from))
  return pieces
end

---The lines of a text, cleaned and broken.
---@param text string
---@param used? integer bytes that stand before the first line
---@return string[]
function M.lines(text, used)
  local lines = {}
  for index, line in ipairs(vim.split(M.clean(text), '\n', { plain = true })) do
    vim.list_extend(lines, M.pieces(line, index == 1 and used or 0))
  end
  return lines
end

---One line of at most `most` characters.
---@param text string
---@param most? integer
---@return string
function M.line(text, most)
  most = most or 200
  local line = vim.trim((M.clean(text:sub(1, most * 8)):gsub('%s+', ' ')))
  if vim.fn.strchars(line) <= most then return line end
  return vim.fn.strcharpart(line, 0, most - 1) .. '…'
end

---A text that means itself in 'statusline' and 'winbar'.
---@param text string
---@return string
function M.in_statusline(text) return (M.line(text):gsub('%%', '%%%%')) end

---A count for people: 950, 12.3k, 4.1M.
---@param count integer
---@return string
function M.count(count)
  if count < 1000 then return tostring(count) end
  if count < 1e6 then return ('%.1fk'):format(count / 1e3) end
  return ('%.1fM'):format(count / 1e6)
end

---What a run has used, in a few words; '' if nothing is known.
---@param usage table?
---@return string
function M.usage(usage)
  if not usage then return '' end
  local words = ('%s in, %s out'):format(M.count(usage.inputTokens), M.count(usage.outputTokens))
  local about = usage.estimated and '~' or ''
  if usage.costUsd then words = words .. (', %s$%.4f'):format(about, usage.costUsd) end
  return words
end

---How full the model's context is, in a few words; '' if it is not known.
---@param usage table?
---@return string
function M.fullness(usage)
  local window = usage and usage.contextWindow
  if not window or window == 0 or not usage.contextTokens then return '' end
  return ('context %d%%'):format(math.floor(100 * usage.contextTokens / window + 0.5))
end

---How long ago a time in seconds since the epoch was.
---@param seconds number
---@return string
function M.ago(seconds)
  local past = math.max(os.time() - seconds, 0)
  if past < 90 then return 'just now' end
  if past < 5400 then return ('%d min ago'):format(past / 60) end
  if past < 129600 then return ('%d h ago'):format(past / 3600) end
  return ('%d days ago'):format(past / 86400)
end

return M
