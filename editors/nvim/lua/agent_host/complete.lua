-- Completion in the prompt: @ for files, / at the beginning for what the host offers. Not here: what is
-- named in the end (mentions.lua).
local client = require('agent_host.client')
local session = require('agent_host.session')
local text = require('agent_host.text')

local M = {}

local MOST_FILES = 3000
local MOST_SHOWN = 60
local SKIPPED = { ['.git'] = true, ['.hg'] = true, node_modules = true, ['.venv'] = true, __pycache__ = true, target = true }

---The files below a root, relative; at most MOST_FILES of them.
local function files(root)
  local found = {}
  local function skip(name) return not SKIPPED[vim.fs.basename(name)] end
  for name, kind in vim.fs.dir(root, { depth = 8, skip = skip }) do
    if kind == 'file' then table.insert(found, name) end
    if #found >= MOST_FILES then break end
  end
  table.sort(found)
  return found
end

---What could follow `@`: names that begin so first, then those that contain it.
local function matching(names, base)
  local wanted, first, later = base:lower(), {}, {}
  for _, name in ipairs(names) do
    local at = name:lower():find(wanted, 1, true)
    if at == 1 or vim.startswith(vim.fs.basename(name):lower(), wanted) then
      table.insert(first, name)
    elseif at then
      table.insert(later, name)
    end
  end
  return vim.list_slice(vim.list_extend(first, later), 1, MOST_SHOWN)
end

local kept = {} -- root -> { names, at }: listed again after some seconds

local function listed(root)
  local now = vim.uv.now()
  if not kept[root] or now - kept[root].at > 10000 then kept[root] = { names = files(root), at = now } end
  return kept[root].names
end

---The word that is being completed: where it begins (from 0), its sign and the rest of it.
local function word_before(line, column)
  local before = line:sub(1, column)
  local from = before:find('@[^%s@]*$')
  if from and (from == 1 or before:sub(from - 1, from - 1):match('[%s(]')) then
    return from - 1, '@', before:sub(from + 1)
  end
  if before:match('^/[%w_:-]*$') then return 0, '/', before:sub(2) end
end

local prompts = {} -- root -> items for `/`, of the host

---Ask the host for its prompts, and start it for that; `done` is called if there is something new.
local function fetch(root, done)
  if prompts[root] or client.running(root) and not client.offers(root, 'agent/prompts') then return end
  prompts[root] = {}
  client.request(root, 'agent/prompts', {}, function(_, answer)
    -- Prompt files come and go, and so do hosts: they are asked for again after a while.
    vim.defer_fn(function() prompts[root] = nil end, 10000)
    if not answer then return end
    for _, prompt in ipairs(answer.prompts) do
      local menu = text.line((prompt.argumentHint and prompt.argumentHint .. ' · ' or '') .. prompt.description, 70)
      table.insert(prompts[root], { word = '/' .. prompt.name, menu = menu })
    end
    done()
  end)
end

local function items(root, sign, base)
  if sign == '@' then
    return vim.tbl_map(function(name) return { word = '@' .. name, menu = 'file' } end, matching(listed(root), base))
  end
  return vim.tbl_filter(function(item) return vim.startswith(item.word, '/' .. base) end, prompts[root] or {})
end

---'completefunc' of the prompt.
function M.func(find_start, base)
  local column = vim.api.nvim_win_get_cursor(0)[2]
  if find_start == 1 then
    local from = word_before(vim.api.nvim_get_current_line(), column)
    return from or -3
  end
  return items(session.current().root, base:sub(1, 1), base:sub(2))
end

---Offer completion while somebody types in a session's prompt.
function M.trigger(current)
  local column = vim.api.nvim_win_get_cursor(0)[2]
  local from, sign, base = word_before(vim.api.nvim_get_current_line(), column)
  if not from or vim.fn.pumvisible() == 1 then return end
  if sign == '/' then
    fetch(current.root, function()
      local typing = vim.api.nvim_get_mode().mode:sub(1, 1) == 'i'
      if typing and vim.api.nvim_get_current_buf() == current.prompt then M.trigger(current) end
    end)
  end
  local found = items(current.root, sign, base)
  if #found == 0 or (#found == 1 and found[1].word == sign .. base) then return end
  vim.fn.complete(from + 1, found)
end

---What completes a word on the command line; the prompts are waited for a little if they are not known.
---@param first boolean whether it is the first one
function M.words(root, lead, first)
  local sign = lead:sub(1, 1)
  if sign == '/' and first then
    local known = prompts[root] ~= nil
    fetch(root, function() known = true end)
    vim.wait(1500, function() return known end, 5)
  elseif sign ~= '@' then
    return {}
  end
  return vim.tbl_map(function(item) return item.word end, items(root, sign, lead:sub(2)))
end

return M
