-- The plugin for people and their configuration. Everything works without calling setup().
local M = {}

local ready = false

---Take over settings; see :help agent-host-settings.
---@param settings? table
function M.setup(settings)
  require('agent_host.config').set(settings)
  M.setup_once()
end

---What has to be done before anything else is used.
function M.setup_once()
  if ready then return end
  ready = true
  require('agent_host.highlights').setup()
  vim.treesitter.language.register('markdown', { 'agenthost', 'agenthost-question' })
end

---Say something to the agent: as a run, or to the run that goes on.
---@param prompt string
---@param opts? {when?: 'now'|'next', context?: table[], open?: boolean}
function M.send(prompt, opts)
  M.setup_once()
  opts = opts or {}
  local session = require('agent_host.session').current()
  if opts.open ~= false then require('agent_host.panel').open(session) end
  session:send(prompt, opts)
end

---Stop the run of the current session.
function M.stop()
  M.setup_once()
  require('agent_host.session').current():stop()
end

function M.open()
  M.setup_once()
  require('agent_host.panel').open(require('agent_host.session').current())
end

function M.toggle()
  M.setup_once()
  require('agent_host.panel').toggle(require('agent_host.session').current())
end

---A few words for a statusline; '' while nothing of the plugin is in use.
---@return string
function M.statusline()
  local session = package.loaded['agent_host.session']
  local shown = session and session.existing()
  if not shown then return '' end
  local text = require('agent_host.text')
  local words = 'agent: ' .. shown:state()
  local cost = shown.usage and shown.usage.costUsd
  if cost then words = words .. (shown.usage.estimated and ' ~$%.2f' or ' $%.2f'):format(cost) end
  return text.in_statusline(words)
end

return M
