-- What a session told before, shown again from what the host keeps of it.
local deltas = require('agent_host.deltas')
local session = require('agent_host.session')
local spinner = require('agent_host.spinner')

local M = {}

local function prompt(target, run)
  if not run then return end
  table.insert(target.prompts, run.prompt)
  target.transcript:change(function() target.render:user(run.prompt) end)
end

---Show past deltas; `runs` by id tell the prompts.
---@param target table a session
---@param list table[] params of agent/delta
---@param runs table<string, table>
function M.show(target, list, runs)
  local part = {}
  for _, params in ipairs(list) do
    if params.delta.kind == 'started' then
      target.render:show(part)
      part = {}
      prompt(target, runs[params.runId])
    end
    deltas.keep(target, params)
    target.last_run = params.runId
    session.is_of(params.runId, target)
    table.insert(part, params)
  end
  target.render:show(part)
end

---All of it is shown: a run that still goes on is ours to stop, one that was cut off says so.
function M.over(target, runs)
  local last = target.last_run and runs[target.last_run]
  if not last then return end
  if last.status == 'running' then
    target.run = last.runId
  elseif last.status == 'interrupted' then
    target.transcript:change(function() target.render:note('■ interrupted: the host ended in the middle of it') end)
  end
  spinner.update(target)
  session.changed(target)
end

return M
