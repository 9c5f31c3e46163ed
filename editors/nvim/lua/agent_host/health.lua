-- :checkhealth agent_host
local M = {}

local function check_host(health)
  local client = require('agent_host.client')
  local argv, searched = client.find()
  if not argv then
    return health.error('the executable agent-host is not found', {
      'Looked for: ' .. table.concat(searched, ', '),
      "Install it there, or set cmd in require('agent_host').setup({ cmd = { ... } })",
    })
  end
  health.ok('the host: ' .. table.concat(argv, ' '))
  if vim.fs.basename(argv[1]) ~= 'agent-host' then return end
  local ok, done = pcall(function() return vim.system({ argv[1], '--version' }, { text = true }):wait(10000) end)
  if ok and done.code == 0 then
    health.ok(vim.trim(done.stdout))
  else
    health.error(argv[1] .. ' --version fails', { ok and vim.trim(done.stderr or '') or tostring(done) })
  end
end

local function check_models(health, root)
  local models = require('agent_host.client').request_sync(root, 'agent/models', {}, 10000)
  local usable = vim.tbl_filter(function(model) return model.usable end, models and models.models or {})
  if #usable > 0 then
    health.ok('models that are set up: ' .. table.concat(vim.tbl_map(function(model) return model.name end, usable), ', '))
  else
    health.warn('no model is set up', { 'Set a key in the environment; `agent-host doctor` says which' })
  end
end

local function check_running(health)
  local client = require('agent_host.client')
  local running = client.all()
  if #running == 0 then return health.info('the host is not running; it starts with the first prompt') end
  for _, each in ipairs(running) do
    local root = each.config.root_dir
    local answer, problem = client.request_sync(root, 'agent/status', {}, 10000)
    if answer then
      health.ok(('running for %s: version %s, %d sessions'):format(root, answer.version, #answer.sessions))
      health.info('commands run in this sandbox: ' .. answer.actionServer.sandbox)
      check_models(health, root)
    elseif vim.wait(2000, function() return client.running(root) ~= each end, 10) then
      health.info('the host of ' .. root .. ' has just ended; the next prompt starts it again')
    else
      health.error('the host of ' .. root .. ' does not answer: ' .. (problem or 'nothing came'), { ':AgentHost restart' })
    end
  end
end

local function check_editor(health)
  if vim.fn.has('nvim-0.10') == 1 then
    health.ok('Neovim ' .. tostring(vim.version()))
  else
    health.error('Neovim 0.10 or newer is needed')
  end
  if pcall(vim.treesitter.language.add, 'markdown') then
    health.ok('Markdown is highlighted by tree-sitter')
  else
    health.info('there is no tree-sitter parser for Markdown: its syntax file is used')
  end
  if vim.o.autoread then
    health.ok('files that a command has changed are read again (autoread)')
  else
    health.warn('autoread is off: files that a command has changed are asked about', { ':set autoread' })
  end
end

local function check_settings(health)
  local config = require('agent_host.config')
  config.get()
  if #config.problems == 0 then return health.ok('the settings are in order') end
  for _, problem in ipairs(config.problems) do
    health.error(problem)
  end
end

function M.check()
  local health = vim.health
  health.start('agent-host: editor')
  check_editor(health)
  check_settings(health)
  health.start('agent-host: host')
  check_host(health)
  check_running(health)
end

return M
