-- The sessions that the host keeps: picked, resumed, forked, renamed, deleted, reverted.
local client = require('agent_host.client')
local panel = require('agent_host.panel')
local replay = require('agent_host.replay')
local session = require('agent_host.session')
local text = require('agent_host.text')

local M = {}

local PAGE = 200
local ACTIONS = { 'resume', 'fork', 'rename', 'delete' }

local function described(entry)
  local words = { entry.title ~= '' and entry.title or entry.sessionId, entry.role, entry.model }
  table.insert(words, ('%d run%s'):format(entry.runs, entry.runs == 1 and '' or 's'))
  if entry.status then table.insert(words, entry.elsewhere and 'open elsewhere' or entry.status) end
  table.insert(words, text.ago(entry.updated))
  return text.line(table.concat(words, ' · '))
end

---Pick a kept session of a root, then what to do with it.
---@param root string
---@param opts? {text?: string, all?: boolean, action?: string}
function M.pick(root, opts)
  opts = opts or {}
  local params = { text = opts.text, all = opts.all, limit = 100 }
  client.request(root, 'agent/session/list', params, function(problem, answer)
    if problem then return session.warn(problem) end
    if #answer.sessions == 0 then return session.inform('no session is kept for this workspace') end
    vim.ui.select(answer.sessions, { prompt = 'Session: ', format_item = described, kind = 'agent_host_session' }, function(entry)
      if not entry then return end
      if opts.action then return M[opts.action](root, entry) end
      vim.ui.select(ACTIONS, { prompt = text.line(entry.title, 60) .. ': ' }, function(action)
        if action then M[action](root, entry) end
      end)
    end)
  end)
end

-- ---- showing a kept session again

local function load(target, cursor, pages, done)
  local params = { sessionId = target.id, cursor = cursor, limit = PAGE }
  client.request(target.root, 'agent/session/load', params, function(problem, answer)
    if problem then return done(problem) end
    table.insert(pages, answer)
    if answer.more then return load(target, answer.cursor, pages, done) end
    done(nil)
  end)
end

local function tell_again(target, pages)
  local runs = {}
  for _, answer in ipairs(pages) do
    for _, run in ipairs(answer.runs) do
      runs[run.runId] = run
    end
    replay.show(target, answer.deltas, runs)
  end
  replay.over(target, runs, pages[1])
end

---Show a kept session and go on with it.
function M.resume(root, entry)
  local shown = session.by_id(entry.sessionId)
  if shown then return panel.open(shown) end
  local target = session.new(root)
  target.id, target.role, target.model = entry.sessionId, nil, nil
  target:call(entry.title or 'session')
  local pages = {}
  load(target, nil, pages, function(problem)
    if problem then
      session.forget(target)
      return target:warn(problem)
    end
    tell_again(target, pages)
    panel.open(target)
    session.tell('AgentHostResumed', { sessionId = target.id })
  end)
end

---Begin a session as another one did, and show it.
---@param entry table
---@param run_id? string the last run that the copy holds
function M.fork(root, entry, run_id)
  local params = { sessionId = entry.sessionId, runId = run_id }
  client.request(root, 'agent/session/fork', params, function(problem, answer)
    if problem then return session.warn(problem) end
    M.resume(root, { sessionId = answer.sessionId, title = entry.title })
  end)
end

---@param title? string asked for if left out
function M.rename(root, entry, title)
  local function rename(new)
    if not new or vim.trim(new) == '' then return end
    client.request(root, 'agent/session/rename', { sessionId = entry.sessionId, title = new }, function(problem)
      if problem then return session.warn(problem) end
      local shown = session.by_id(entry.sessionId)
      if shown then shown:call(new) end
      session.inform('renamed')
    end)
  end
  if title then return rename(title) end
  vim.ui.input({ prompt = 'Title: ', default = entry.title }, rename)
end

---Delete a session after asking.
---@param sure? boolean without asking
function M.delete(root, entry, sure)
  local function delete(choice)
    if choice ~= 'Delete' then return end
    client.request(root, 'agent/session/delete', { sessionId = entry.sessionId }, function(problem)
      if problem then return session.warn(problem) end
      local shown = session.by_id(entry.sessionId)
      if shown then session.forget(shown) end
      session.inform('deleted')
    end)
  end
  if sure then return delete('Delete') end
  vim.ui.select({ 'Keep', 'Delete' }, { prompt = 'Delete ' .. text.line(entry.title or 'this session', 60) .. '? ' }, delete)
end

---Take the changes of a run back.
function M.revert(target, run_id)
  run_id = run_id or target.edited_run or target.last_run
  if not run_id then return target:warn('this session has no run to revert') end
  client.request(target.root, 'agent/session/revert', { runId = run_id }, function(problem, answer)
    if problem then return target:warn(problem) end
    target.edited_run = answer.runId
    target.transcript:change(function()
      target.render:note('↶ reverted')
      for _, file in ipairs(answer.files) do
        local name = vim.fn.fnamemodify(vim.uri_to_fname(file.uri), ':~:.')
        local words = ('  %s: %s%s'):format(name, file.status, file.reason and ' · ' .. file.reason or '')
        target.render:note(words, file.status == 'reverted' and 'AgentHostOk' or 'AgentHostNote')
      end
    end)
    require('agent_host.handlers').look_at_files()
    session.tell('AgentHostReverted', { runId = answer.runId, files = answer.files })
  end)
end

return M
