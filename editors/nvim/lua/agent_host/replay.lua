-- What a session told before, shown again from what the host keeps of it.
local client = require('agent_host.client')
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

local OUTCOMES = { made = 'it was made', notMade = 'it was not made', unknown = 'look at it' }

---What was not finished when a host died, for the person to know.
---@param page table the first answer of agent/session/load
local function unfinished(target, page)
  target.transcript:change(function()
    for _, each in ipairs(page.leftOpen or {}) do
      target.render:note('? left open, and put again by the next run: ' .. each.title, 'AgentHostAsking')
    end
    for _, each in ipairs(page.cutShort or {}) do
      local words = '■ cut short: %s of %s; %s'
      target.render:note(words:format(each.kind, vim.uri_to_fname(each.uri), OUTCOMES[each.outcome]), 'AgentHostAsking')
    end
  end)
end

---All of it is shown: a run that still goes on is ours to stop, one that was cut off says so.
function M.over(target, runs, page)
  local last = target.last_run and runs[target.last_run]
  if not last then return end
  if last.status == 'running' then
    target.run = last.runId
    client.request(target.root, 'agent/steer/list', { sessionId = target.id }, function(_, answer)
      if not answer then return end
      target.pending = answer.pending
      session.changed(target)
    end)
  elseif last.status == 'interrupted' then
    target.transcript:change(function() target.render:note('■ interrupted: the host ended in the middle of it') end)
  end
  unfinished(target, page)
  spinner.update(target)
  session.changed(target)
end

return M
