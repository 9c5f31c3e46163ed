-- :AgentHost and its subcommands.
local client = require('agent_host.client')
local mentions = require('agent_host.mentions')
local panel = require('agent_host.panel')
local places = require('agent_host.places')
local prompt = require('agent_host.prompt')
local question = require('agent_host.question')
local scratch = require('agent_host.scratch')
local session = require('agent_host.session')
local sessions = require('agent_host.sessions')
local text = require('agent_host.text')
local wire = require('agent_host.wire')

local M = {}

local commands = {}

local function current() return session.current() end

---The kept session that the current one is.
local function entry()
  local shown = session.current()
  if shown.id then return { sessionId = shown.id, title = shown.title } end
  session.warn('nothing has been said in this session yet')
end

---Completion of the first word only.
local function first(found)
  return function(_, rest) return rest:find('%s') and {} or found() end
end

-- ---- talking

commands.open = { about = 'show the session', run = function() panel.open(current()) end }
commands.close = { about = 'close its windows', run = panel.close }
commands.toggle = { about = 'show or close', run = function() panel.toggle(current()) end }
commands.new = {
  about = 'begin a new session',
  run = function()
    local root = client.root(vim.api.nvim_get_current_buf())
    panel.open(session.new(vim.b.agent_host_session and current().root or root))
  end,
}

---The lines of a command's range as an item of `context`, and as a prompt names them.
local function selected(opts, root)
  local buffer = vim.api.nvim_get_current_buf()
  local name = vim.api.nvim_buf_get_name(buffer)
  if opts.range == 0 or name == '' or vim.bo[buffer].buftype ~= '' then return {} end
  local range = { start = { line = opts.line1 - 1, character = 0 }, ['end'] = { line = opts.line2, character = 0 } }
  local mention = mentions.of(root, vim.fs.normalize(name), opts.line1, opts.line2)
  return { { uri = vim.uri_from_fname(name), range = range } }, mention
end

local function send(words, opts, when)
  local target = current()
  local context, mention = selected(opts, target.root)
  if words == '' then
    panel.open(target)
    if not mention then
      target.context = context
      return
    end
    prompt.add(target, mention)
    return vim.cmd('startinsert!')
  end
  if not panel.is_open(target) then panel.open(target) end
  vim.list_extend(context, mentions.mentioned(target.root, words))
  target:send(words, { context = context, when = when })
end

---Files by @ and, at the beginning, prompts of the host by /.
local function said(lead, rest) return require('agent_host.complete').words(current().root, lead, rest == lead) end

commands.send = { about = 'say something: to the run that goes on, or as a new one', run = send, complete = said }
commands.run = { about = 'the same as send', run = send, complete = said }
commands.steer = { about = 'say something to the run that goes on', run = function(words, opts) send(words, opts, 'now') end, complete = said }
commands.queue = { about = 'say something for after the run', run = function(words, opts) send(words, opts, 'next') end, complete = said }
commands.unsteer = { about = 'take back what waits', run = function() prompt.unsteer(current()) end }
commands.stop = { about = 'stop the run', run = function() current():stop() end }

-- ---- questions

local function on_question(work)
  return function(words)
    local open = question.current()
    if not open then return session.inform('no question is open') end
    work(open, words)
  end
end

commands.answer = { about = 'put the keyboard into the question', run = question.focus }
commands.allow = {
  about = 'allow what is asked, once; "allow longer": for as long as is offered',
  run = on_question(function(open, words) question.allow(open, words == 'longer') end),
  complete = first(function() return { 'longer' } end),
}
commands.deny = {
  about = 'deny what is asked; words behind it are the reason',
  run = on_question(function(open, words) question.deny(open, words ~= '' and words or nil) end),
}

-- ---- kept sessions

commands.sessions = {
  about = 'pick a kept session; words search, ! looks in all workspaces',
  run = function(words, opts)
    sessions.pick(current().root, { text = words ~= '' and words or nil, all = opts.bang or nil })
  end,
}
commands.resume = {
  about = 'go on with a kept session; with ! the newest',
  run = function(words, opts)
    local root = current().root
    if words ~= '' then return sessions.resume(root, { sessionId = words }) end
    if not opts.bang then return sessions.pick(root, { action = 'resume' }) end
    client.request(root, 'agent/session/list', { limit = 1 }, function(problem, answer)
      if problem then return session.warn(problem) end
      if not answer.sessions[1] then return session.inform('no session is kept for this workspace') end
      sessions.resume(root, answer.sessions[1])
    end)
  end,
}
commands.fork = {
  about = 'begin a new session as this one did',
  run = function()
    local this = entry()
    if this then sessions.fork(current().root, this) end
  end,
}
commands.rename = {
  about = 'give this session another title',
  run = function(words)
    local this = entry()
    if this then sessions.rename(current().root, this, words ~= '' and words or nil) end
  end,
}
commands.delete = {
  about = 'delete this session; with ! without asking',
  run = function(_, opts)
    local this = entry()
    if this then sessions.delete(current().root, this, opts.bang) end
  end,
}
commands.compact = {
  about = 'have the session summarised, so that it takes less room; words say what matters',
  run = function(words) current():compact(words) end,
}
commands.revert = {
  about = "take the last run's changes back",
  run = function(words) sessions.revert(current(), words ~= '' and words or nil) end,
}

-- ---- roles, models, trust

local function names(list, key, usable)
  local found = {}
  for _, each in ipairs(list or {}) do
    if not usable or each[usable] then table.insert(found, each[key]) end
  end
  return found
end

local function role_names()
  local answer = client.request_sync(current().root, 'agent/roles', {}, 500)
  return names(answer and answer.roles, 'name')
end

local function model_names()
  local answer = client.request_sync(current().root, 'agent/models', {}, 500)
  return names(answer and answer.models, 'name', 'usable')
end

local function choose(what, item)
  local target = current()
  target[what], target[what .. '_now'] = item, nil
  session.inform(('the next run has the %s %s'):format(what, item))
  vim.cmd.redrawstatus({ bang = true })
end

local function problem_of(each) return ('%s:%d: %s'):format(each.source, each.line, each.reason) end

commands.roles = {
  about = 'pick a role for the next runs',
  complete = first(role_names),
  run = function(words)
    if words ~= '' then return choose('role', words) end
    client.request(current().root, 'agent/roles', {}, function(problem, answer)
      if problem then return session.warn(problem) end
      for _, each in ipairs(answer.problems) do
        session.warn(problem_of(each))
      end
      local function described(role) return text.line(role.name .. ' · ' .. role.description) end
      vim.ui.select(answer.roles, { prompt = 'Role: ', format_item = described }, function(role)
        if role then choose('role', role.name) end
      end)
    end)
  end,
}
commands.models = {
  about = 'pick a model for the next runs',
  complete = first(model_names),
  run = function(words)
    if words ~= '' then return choose('model', words) end
    client.request(current().root, 'agent/models', {}, function(problem, answer)
      if problem then return session.warn(problem) end
      local function described(model)
        return text.line(model.usable and model.name or ('%s · not set up: %s'):format(model.name, model.reason or '?'))
      end
      vim.ui.select(answer.models, { prompt = 'Model: ', format_item = described }, function(model)
        if not model then return end
        if not model.usable then return session.warn(model.reason or 'it can not be used') end
        choose('model', model.name)
      end)
    end)
  end,
}

commands.guidance = {
  about = 'instructions, skills, prompts and MCP servers, and what is wrong with them',
  run = function() require('agent_host.guidance').open(current().root) end,
}

local function host_command(name, told)
  return function()
    client.command(current().root, name, nil, function(problem, answer)
      if problem then return session.warn(problem) end
      told(answer)
    end)
  end
end

local function tell_trusted(answer)
  session.inform('trusted folders: ' .. (#answer.trusted > 0 and table.concat(answer.trusted, ', ') or 'none'))
end

commands.trust = { about = 'trust this workspace', run = host_command(wire.commands.trust, tell_trusted) }
commands.distrust = { about = 'trust it no more', run = host_command(wire.commands.distrust, tell_trusted) }
commands.grants = {
  about = 'see what you have allowed for longer, and take it back',
  run = host_command(wire.commands.grants, function(answer)
    if #answer.grants == 0 then return session.inform('nothing is allowed for longer') end
    local function described(grant) return text.line(grant.what) end
    vim.ui.select(answer.grants, { prompt = 'Take back: ', format_item = described }, function(grant)
      if not grant then return end
      client.command(current().root, wire.commands.revoke, { id = grant.id }, function(problem)
        if problem then return session.warn(problem) end
        session.inform('taken back: ' .. grant.what)
      end)
    end)
  end),
}

-- ---- the host

commands.diff = {
  about = 'all that the last run changed',
  run = function()
    local diff = current().diff
    if not diff then return session.inform('no run of this session has changed anything') end
    local lines = text.lines((diff.text:gsub('\n$', '')))
    for _, each in ipairs(diff.omitted) do
      table.insert(lines, text.line(('# %s: %s'):format(vim.uri_to_fname(each.uri), each.reason), 1000))
    end
    scratch.show('diff', lines, { filetype = 'diff', places = (places.of_diff(current().root, lines)) })
  end,
}
commands.changes = {
  about = 'the places that the last run changed, in the quickfix list',
  run = function()
    local diff = current().diff
    if not diff then return session.inform('no run of this session has changed anything') end
    local _, changes = places.of_diff(current().root, vim.split(diff.text, '\n', { plain = true }))
    for _, each in ipairs(diff.omitted) do
      table.insert(changes, { filename = vim.uri_to_fname(each.uri), lnum = 1, text = text.line(each.reason) })
    end
    vim.fn.setqflist({}, ' ', { title = 'changes of ' .. current().title, items = changes })
    vim.cmd('botright copen')
  end,
}
commands.log = {
  about = "what the host said about its decisions, and Neovim's log of it",
  run = function()
    local lines = { "Neovim's log: " .. vim.lsp.get_log_path(), '' }
    local shown = session.existing()
    for _, line in ipairs(shown and shown.log or {}) do
      vim.list_extend(lines, text.lines(line))
    end
    scratch.show('log', lines)
  end,
}
commands.restart = {
  about = 'end the host and start it again; sessions are kept',
  run = function()
    client.restart(current().root, function(problem)
      if problem then return session.warn(problem) end
      session.inform('the host was started again')
    end)
  end,
}
commands.quit = { about = 'end the host', run = function() client.stop(current().root) end }
commands.help = { about = ':help agent-host', run = function() require('agent_host.reading').help() end }
commands.health = { about = ':checkhealth agent_host', run = function() vim.cmd('checkhealth agent_host') end }

M.commands = commands

-- ---- the command line

---@param opts table of nvim_create_user_command
function M.execute(opts)
  require('agent_host').setup_once()
  local name, words = opts.args:match('^(%S*)%s*(.*)$')
  if name == '' then return panel.open(current()) end
  if name:sub(-1) == '!' then name, opts.bang = name:sub(1, -2), true end
  local command = commands[name]
  if not command then
    return session.warn(('there is no :AgentHost %s; there are %s'):format(name, table.concat(M.names(), ', ')))
  end
  command.run(words, opts)
end

function M.names()
  local found = vim.tbl_keys(commands)
  table.sort(found)
  return found
end

---Completion of the subcommand, then of what it takes.
function M.complete(lead, line)
  local name, rest = line:match('AgentHost!?%s+(%S+)%s+(.*)$')
  local found = M.names()
  if name then
    local command = commands[name]
    found = command and command.complete and command.complete(lead, rest) or {}
  end
  return vim.tbl_filter(function(each) return vim.startswith(each, lead) end, found)
end

return M
