-- The deltas that come in: held for a moment, then taken by their sessions and shown, a batch at a time.
-- Not here: what each becomes in a transcript (render.lua), those of the past (replay.lua).
local config = require('agent_host.config')
local session = require('agent_host.session')
local spinner = require('agent_host.spinner')

local M = {}

local MOST_LOG = 500

local queue = {} -- deltas that wait for the next flush
local timer = nil

local function start_timer()
  timer = timer or vim.uv.new_timer()
  if not timer:is_active() then
    timer:start(config.get().transcript.interval_ms, 0, vim.schedule_wrap(M.flush))
  end
end

---Take a delta in; it is shown with the next batch.
---@param params table params of agent/delta
function M.add(params)
  table.insert(queue, params)
  local kind = params.delta.kind
  -- Whatever a person waits for is shown at once.
  if kind == 'ended' or kind == 'question' then return M.flush() end
  start_timer()
end

local function take(target, params)
  local delta, queued = params.delta, nil
  if delta.kind == 'started' then
    if target.run ~= params.runId then queued = target:queued() end
    target.run, target.last_run = params.runId, params.runId
    target.role_now, target.model_now = delta.role, delta.model
  elseif delta.kind == 'text' and params.origin.kind == 'user' then
    target:took(delta.text)
  elseif delta.kind == 'log' then
    table.insert(target.log, ('[%s] %s'):format(delta.source, delta.text))
    if #target.log > MOST_LOG then table.remove(target.log, 1) end
  elseif delta.kind ~= 'edit' or delta.state == 'applied' then
    M.keep(target, params)
  end
  return queued
end

---What a session keeps of a delta, of now or of the past.
function M.keep(target, params)
  local delta = params.delta
  if delta.kind == 'edit' then target.edited_run = params.runId end
  if delta.kind == 'usage' then target.usage = delta.usage end
  if delta.kind == 'diff' then target.diff = delta end
end

local function show(target, list)
  local part = {}
  for _, params in ipairs(list) do
    local queued = take(target, params)
    if queued then
      target.render:show(part)
      part = {}
      target.transcript:change(function() target.render:user(queued) end)
    end
    table.insert(part, params)
  end
  target.render:show(part)
  for _, params in ipairs(list) do
    if params.delta.kind == 'ended' and target.run == params.runId then target:run_over() end
  end
  target:send_held()
  spinner.update(target)
end

---Show every delta that waits.
function M.flush()
  local list = queue
  queue = {}
  if #list == 0 then return end
  local groups, order = {}, {}
  for _, params in ipairs(list) do
    local target = session.of_run(params.runId, params.sessionId)
    if target then
      if not groups[target] then
        groups[target] = {}
        table.insert(order, target)
      end
      table.insert(groups[target], params)
    end
  end
  for _, target in ipairs(order) do
    show(target, groups[target])
  end
  if #vim.api.nvim_get_autocmds({ event = 'User', pattern = 'AgentHostDelta' }) > 0 then
    for _, params in ipairs(list) do
      session.tell('AgentHostDelta', params)
    end
  end
end

return M
