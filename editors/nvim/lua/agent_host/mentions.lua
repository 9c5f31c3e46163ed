-- What a prompt names: `@file`, `@file:3-9`, `@"a file"`; and the same words for lines of a buffer.
local M = {}

---A file below the root, or lines of it (from 1, both ends included), as a prompt names them.
---@return string? nil if it is not below the root
function M.of(root, path, first, last)
  local base = root:gsub('/$', '') .. '/'
  if not vim.startswith(path, base) then return nil end
  local name = path:sub(#base + 1)
  local shown = name:find('%s') and ('@"%s"'):format(name) or '@' .. name
  if not first then return shown end
  return first == last and ('%s:%d'):format(shown, first) or ('%s:%d-%d'):format(shown, first, last)
end

---An item of `context` for a name, if there is such a file below the root.
local function item(root, name, first, last)
  local path = vim.fs.normalize(root .. '/' .. name)
  local inside = vim.startswith(path, root:gsub('/$', '') .. '/')
  if name == '' or not inside or vim.fn.filereadable(path) == 0 then return nil end
  first, last = tonumber(first), tonumber(last) or tonumber(first)
  local range = first and { start = { line = first - 1, character = 0 }, ['end'] = { line = last, character = 0 } }
  return { uri = vim.uri_from_fname(path), range = range }
end

---The lines that stand behind a name: `:3` or `:3-9`, and nothing more.
local function lines_of(words)
  local first, last = words:match('^:(%d+)%-(%d+)')
  return first or words:match('^:(%d+)'), last
end

---The files that a prompt names by @, as items of `context`.
function M.mentioned(root, prompt)
  local context = {}
  local function take(name, words)
    local first, last = lines_of(words)
    table.insert(context, item(root, name, first, last))
  end
  for name, words in prompt:gmatch('@"([^"\n]+)"(%S*)') do
    take(name, words)
  end
  for word in prompt:gmatch('@([^%s@"]+)') do
    word = word:gsub('[.,;:!?)]+$', '')
    take(word:gsub(':%d+%-?%d*$', ''), word:match(':%d+%-?%d*$') or '')
  end
  return context
end

return M
