-- What is said on the wire: each method with the keys of its params. A test compares this table with
-- the host's own schema, and `check` refuses what is not in it.
local M = {}

M.requests = {
  ['agent/run'] = { 'prompt', 'sessionId', 'runId', 'role', 'model', 'cwd', 'context' },
  ['agent/stop'] = { 'runId', 'sessionId' },
  ['agent/steer'] = { 'sessionId', 'prompt', 'when' },
  ['agent/steer/list'] = { 'sessionId' },
  ['agent/steer/remove'] = { 'sessionId', 'id' },
  ['agent/status'] = {},
  ['agent/roles'] = {},
  ['agent/models'] = {},
  ['agent/prompts'] = {},
  ['agent/guidance'] = {},
  ['agent/session/list'] = { 'text', 'cursor', 'limit', 'all' },
  ['agent/session/load'] = { 'sessionId', 'cursor', 'limit' },
  ['agent/session/fork'] = { 'sessionId', 'runId' },
  ['agent/session/compact'] = { 'sessionId', 'focus' },
  ['agent/session/rename'] = { 'sessionId', 'title' },
  ['agent/session/delete'] = { 'sessionId' },
  ['agent/session/revert'] = { 'runId', 'sessionId' },
}

---What the host sends; the keys of our answers.
M.answers = {
  ['agent/ask'] = { 'optionId', 'reason', 'accepted' },
  ['agent/save'] = { 'saved' },
  ['agent/diagnostics'] = { 'diagnostics' },
}
M.notifications = { 'agent/delta' }

---The host's commands that are run by workspace/executeCommand.
M.commands = {
  trust = 'agentHost.trust',
  distrust = 'agentHost.distrust',
  grants = 'agentHost.grants',
  revoke = 'agentHost.revokeGrant',
}

---Raise an error if a request is not as declared here.
function M.check(method, params)
  if method == 'workspace/executeCommand' then return end
  local keys = assert(M.requests[method], method .. ' is not in wire.lua')
  for key in pairs(params) do
    assert(vim.tbl_contains(keys, key), ('%s: %s is not in wire.lua'):format(method, key))
  end
end

return M
