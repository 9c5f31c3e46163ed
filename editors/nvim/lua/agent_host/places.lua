-- Places in files, and going there: what a path in a line means, and where each line of a unified diff
-- leads. Not here: which keys do it (reading.lua, scratch.lua).
local M = {}

---A window of the person's own, made if there is none.
local function go_to_own_window()
  local tried = { vim.fn.win_getid(vim.fn.winnr('#')) }
  vim.list_extend(tried, vim.api.nvim_tabpage_list_wins(0))
  for _, window in ipairs(tried) do
    local ours = window == 0 or vim.bo[vim.api.nvim_win_get_buf(window)].buftype ~= ''
    if not ours and vim.api.nvim_win_get_config(window).relative == '' then return vim.api.nvim_set_current_win(window) end
  end
  vim.cmd('topleft vnew')
end

---Show a place in a window of the person's own; nothing happens if there is no such file.
---@param place {path: string, line?: integer}?
---@return boolean shown
function M.open(place)
  if not place or vim.fn.filereadable(place.path) == 0 then return false end
  go_to_own_window()
  vim.cmd("normal! m'")
  if vim.api.nvim_buf_get_name(0) ~= place.path then vim.cmd.edit(vim.fn.fnameescape(place.path)) end
  pcall(vim.api.nvim_win_set_cursor, 0, { place.line or 1, 0 })
  return true
end

local function resolve(root, name)
  for _, each in ipairs({ name, (name:gsub('^[ab]/', '')) }) do
    local path = each:sub(1, 1) == '/' and each or vim.fs.normalize(each:sub(1, 1) == '~' and each or root .. '/' .. each)
    if vim.fn.filereadable(path) == 1 then return path end
  end
end

---The place that a line names at a column, else the first one that it names: `path` or `path:line`.
---@param root string
---@param line string
---@param column integer from 0
---@return {path: string, line?: integer}?
function M.named(root, line, column)
  local first
  for from, name, to in line:gmatch('()([^%s`\'"()%[%]<>,;|@*]+)()') do
    local bare = name:gsub('^file://', ''):gsub('[.:]+$', '')
    local path, number = bare:match('^(.-):(%d+)')
    path = resolve(root, path or bare)
    if path then
      local place = { path = path, line = tonumber(number) }
      if column + 1 >= from and column + 1 < to then return place end
      first = first or place
    end
  end
  return first
end

---Where each line of a unified diff leads, and the first change of each hunk.
---@param root string
---@param lines string[]
---@return table<integer, {path: string, line: integer}> places by number of the line
---@return {filename: string, lnum: integer, text: string}[] changes fit for setqflist()
function M.of_diff(root, lines)
  local places, changes, before, path = {}, {}, nil, nil
  local number, old, new, told = 1, 0, 0, true
  for index, line in ipairs(lines) do
    local first, outside = line:sub(1, 1), old + new <= 0
    local name = outside and line:match('^%+%+%+ (.*)$')
    if outside then before = line:match('^%-%-%- (.*)$') or before end
    local old_count, begins, new_count = line:match('^@@ %-%d+,?(%d*) %+(%d+),?(%d*) @@')
    if name then
      -- Of a file that was deleted only the name before is one.
      name = (name == '/dev/null' and before or name):gsub('\t.*$', '')
      path = root .. '/' .. name:gsub('^[ab]/', '')
      number = 1
    elseif begins then
      number, told = math.max(tonumber(begins), 1), false
      old, new = tonumber(old_count) or 1, tonumber(new_count) or 1
    end
    if path then places[index] = { path = path, line = number } end
    if not name and not begins and old + new > 0 then
      if first == '+' or first == '-' then
        if not told then table.insert(changes, { filename = path, lnum = number, text = line }) end
        told = true
      end
      if first ~= '+' and first ~= '\\' then old = old - 1 end
      if first ~= '-' and first ~= '\\' then new, number = new - 1, number + 1 end
    end
  end
  return places, changes
end

return M
