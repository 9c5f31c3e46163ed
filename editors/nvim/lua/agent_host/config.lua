-- The settings: defaults, what the user gave, and a clear word about what is wrong with it.
local M = {}

M.defaults = {
  cmd = nil, -- list: the host and its arguments; nil: `agent-host serve --stdio`, looked for
  cmd_env = {},
  root_markers = { '.git', '.hg', 'pyproject.toml', 'package.json', 'Cargo.toml', 'go.mod', 'Makefile' },
  settings = {}, -- the host's own settings, as in config.yaml
  role = nil,
  model = nil,
  ask = 'float', -- 'float': the question with its diff; 'select': vim.ui.select
  focus_question = 'auto', -- 'auto': only from the agent's own windows in normal mode; 'always'; 'never'
  checktime = true, -- look for files that a command has changed
  window = { position = 'right', width = 84, prompt_height = 6 }, -- right, left, bottom, tab
  transcript = { highlight = true, fold = true, output_lines = 200, diff_lines = 30, interval_ms = 40 },
  keys = {
    send = { n = '<CR>', i = '<C-s>' },
    queue = { n = '<M-CR>', i = '<M-CR>' }, -- while a run goes on: as a run of its own afterwards
    newer = { n = '<C-n>', i = '<C-n>' },
    older = { n = '<C-p>', i = '<C-p>' },
    unsteer = { n = '<C-x>' },
    stop = { n = '<C-c>' },
    allow = 'a',
    allow_longer = 'A',
    deny = 'd',
    reason = 'r',
    stop_run = 's',
    part = '<Space>',
    close = { 'q', '<Esc>' },
  },
}

local CHOICES = {
  ask = { 'float', 'select' },
  focus_question = { 'auto', 'always', 'never' },
  position = { 'right', 'left', 'bottom', 'tab' },
}
local OPEN = { cmd_env = true, settings = true, keys = true, root_markers = true, cmd = true }
local TYPES = { cmd = 'table', role = 'string', model = 'string' }

local given = nil

---Problems with a table of settings, a sentence each.
local function problems(settings, defaults, path)
  local found = {}
  for key, value in pairs(settings) do
    local name = path .. tostring(key)
    local known = defaults[key]
    local wanted = known ~= nil and type(known) or TYPES[key]
    if wanted == nil then
      local names = vim.tbl_keys(defaults)
      table.sort(names)
      table.insert(found, ('%s: no such setting; known are %s'):format(name, table.concat(names, ', ')))
    elseif type(value) ~= wanted then
      table.insert(found, ('%s: must be a %s, not a %s'):format(name, wanted, type(value)))
    elseif CHOICES[key] and not vim.tbl_contains(CHOICES[key], value) then
      table.insert(found, ('%s: must be one of %s'):format(name, table.concat(CHOICES[key], ', ')))
    elseif wanted == 'table' and not OPEN[key] then
      vim.list_extend(found, problems(value, known, name .. '.'))
    end
  end
  return found
end

---Take over the user's settings. What is wrong is named, and the defaults are used instead of all of it.
---@param settings table?
function M.set(settings)
  local found = problems(settings or {}, M.defaults, '')
  M.problems = found
  if #found > 0 then
    vim.notify('agent-host: setup() is not used:\n' .. table.concat(found, '\n'), vim.log.levels.ERROR)
    settings = nil
  end
  given = vim.tbl_deep_extend('force', {}, M.defaults, settings or {})
end

---The settings that count now.
function M.get()
  if not given then given = vim.deepcopy(M.defaults) end
  return given
end

M.problems = {}

return M
