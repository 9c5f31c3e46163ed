-- The host as a language server of Neovim's own client: found, started once for each root, attached to
-- the files below it, restarted. Not here: what the host asks of us (handlers.lua).
local config = require('agent_host.config')
local wire = require('agent_host.wire')

local M = {}

M.NAME = 'agent_host'

local ids = {} -- root -> client id
local ended = {} -- client id -> functions to call once it is gone
local waiting = {} -- client id -> functions to call once it is ready, with an error if it never is
local unanswered = {} -- client id -> functions that an answer will call, as keys

---Where the executable is looked for, in order.
---@return string[] argv of the host; nil if it is nowhere
---@return string[] searched
function M.find()
  local cmd = config.get().cmd
  if cmd and #cmd > 0 then
    local searched = { cmd[1] .. ' (the setting cmd)' }
    return vim.fn.executable(cmd[1]) == 1 and cmd or nil, searched
  end
  local places = { vim.fn.exepath('agent-host') }
  if vim.env.VIRTUAL_ENV then table.insert(places, vim.env.VIRTUAL_ENV .. '/bin/agent-host') end
  table.insert(places, vim.fn.expand('~/.local/bin/agent-host'))
  table.insert(places, vim.fn.stdpath('data') .. '/agent-host/bin/agent-host')
  for _, place in ipairs(places) do
    if place ~= '' and vim.fn.executable(place) == 1 then return { place, 'serve', '--stdio' }, places end
  end
  places[1] = 'agent-host on $PATH'
  return nil, places
end

---What to tell somebody whose host is not found.
function M.not_found(searched)
  return 'agent-host is not found. Looked for: '
    .. table.concat(searched, ', ')
    .. '. Install it into one of these places, or set cmd: '
    .. "require('agent_host').setup({ cmd = { '/path/to/agent-host', 'serve', '--stdio' } })"
end

---The root that a buffer belongs to: the nearest folder with a marker, else the working directory.
function M.root(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  if name ~= '' and vim.bo[buffer].buftype == '' then
    local root = vim.fs.root(buffer, config.get().root_markers)
    if root then return vim.fs.normalize(root) end
  end
  local here = vim.fn.getcwd()
  return vim.fs.normalize(vim.fs.root(here, config.get().root_markers) or here)
end

---The running client of a root, if there is one.
---@return vim.lsp.Client?
function M.running(root)
  local client = ids[root] and vim.lsp.get_client_by_id(ids[root])
  return client and not client:is_stopped() and client or nil
end

---Every running client of ours.
function M.all() return vim.tbl_values(vim.tbl_map(vim.lsp.get_client_by_id, ids)) end

local function is_file(buffer)
  return vim.api.nvim_buf_is_loaded(buffer)
    and vim.bo[buffer].buftype == ''
    and vim.api.nvim_buf_get_name(buffer) ~= ''
end

local function attach(buffer)
  if not is_file(buffer) then return end
  local name = vim.fs.normalize(vim.api.nvim_buf_get_name(buffer))
  for root, id in pairs(ids) do
    local client = vim.lsp.get_client_by_id(id)
    if client and client.initialized and vim.startswith(name, root:gsub('/$', '') .. '/') then
      vim.lsp.buf_attach_client(buffer, id)
    end
  end
end

local function capabilities()
  local made = vim.lsp.protocol.make_client_capabilities()
  made.experimental = made.experimental or {}
  made.experimental.agentHost = { ask = true, save = true, diagnostics = true }
  return made
end

local function ready(id, problem)
  local functions = waiting[id] or {}
  waiting[id] = nil
  for _, go_on in ipairs(functions) do
    go_on(problem)
  end
end

local function on_exit(root, id, code, signal)
  if ids[root] == id then ids[root] = nil end
  local how = signal ~= 0 and ('by signal ' .. signal) or ('with exit code ' .. code)
  local problem = 'the host has ended ' .. how .. '; see :AgentHost log'
  ready(id, problem)
  require('agent_host.session').host_ended(id, problem)
  require('agent_host.question').host_ended(id)
  local functions = vim.tbl_keys(unanswered[id] or {})
  unanswered[id] = nil
  for _, answered in ipairs(functions) do
    answered({ message = problem })
  end
  functions = ended[id] or {}
  ended[id] = nil
  for _, go_on in ipairs(functions) do
    go_on()
  end
end

local function launch(root, argv)
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufFilePost' }, {
    group = vim.api.nvim_create_augroup('agent_host_attach', {}),
    callback = function(event) attach(event.buf) end,
  })
  local id
  local description = {
    name = M.NAME,
    cmd = argv,
    cmd_env = config.get().cmd_env,
    root_dir = root,
    workspace_folders = { { uri = vim.uri_from_fname(root), name = vim.fs.basename(root) } },
    init_options = next(config.get().settings) and config.get().settings or nil,
    capabilities = capabilities(),
    handlers = require('agent_host.handlers').table(),
    on_init = function(client)
      -- The client sends what is opened only once it has told the server that it is initialized.
      vim.schedule(function()
        for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
          attach(buffer)
        end
        ready(client.id)
      end)
    end,
    on_exit = function(code, signal, ended)
      vim.schedule(function() on_exit(root, ended, code, signal) end)
    end,
  }
  if vim.fn.has('nvim-0.11') == 1 then
    id = vim.lsp.start(description, { attach = false, reuse_client = function() return false end })
  else
    id = vim.lsp.start_client(description)
  end
  return id
end

---Have a client for a root, started if need be. `go_on` is called with it, or with nil and a sentence.
---@param root string
---@param go_on fun(client: vim.lsp.Client?, problem: string?)
function M.with(root, go_on)
  local client = M.running(root)
  if client and client.initialized and not waiting[client.id] then return go_on(client) end
  if not client then
    local argv, searched = M.find()
    if not argv then return go_on(nil, M.not_found(searched)) end
    local id = launch(root, argv)
    if not id then return go_on(nil, 'the host could not be started; see :AgentHost log') end
    ids[root], waiting[id] = id, {}
  end
  local id = ids[root]
  waiting[id] = waiting[id] or {}
  table.insert(waiting[id], function(problem) go_on(not problem and vim.lsp.get_client_by_id(id) or nil, problem) end)
end

---The sentence in an error of the host.
local function sentence(err)
  local data = type(err.data) == 'table' and err.data or {}
  return type(data.error) == 'string' and data.error or err.message or 'the host answered with an error'
end

---Send a request to the host of a root. `done` is called once: with a sentence, as when the host ends
---before it has answered, or with nil and the result.
---@param root string
---@param method string
---@param params table
---@param done fun(problem: string?, answer: table?)
function M.request(root, method, params, done)
  wire.check(method, params)
  M.with(root, function(client, problem)
    if not client then return done(problem) end
    if next(params) == nil then params = vim.empty_dict() end
    local open = unanswered[client.id] or {}
    unanswered[client.id] = open
    local answered
    answered = function(err, result)
      if not open[answered] then return end
      open[answered] = nil
      if err then return done(sentence(err)) end
      done(nil, result)
    end
    open[answered] = true
    local sent
    if vim.fn.has('nvim-0.11') == 1 then
      sent = client:request(method, params, answered)
    else
      sent = client.request(method, params, answered)
    end
    if not sent then answered({ message = 'the host is ending; try again' }) end
  end)
end

---Send a request and wait for its result, at most `ms`; nil if none came, as when the host ends.
function M.request_sync(root, method, params, ms)
  local client = M.running(root)
  if not client then return nil end
  local done, result, said
  M.request(root, method, params, function(problem, answer)
    done, result, said = true, answer, problem
  end)
  vim.wait(ms, function() return done or M.running(root) ~= client end, 5)
  return result, said
end

---Stop a run of a client; nothing is reported.
function M.stop_run(client_id, run_id)
  for root, id in pairs(ids) do
    if id == client_id then M.request(root, 'agent/stop', { runId = run_id }, function() end) end
  end
end

---Run one of the host's commands.
function M.command(root, command, argument, done)
  local params = { command = command, arguments = argument and { argument } or {} }
  M.request(root, 'workspace/executeCommand', params, done)
end

---Whether the host of a root has a method.
function M.offers(root, method)
  local client = M.running(root)
  local offered = client and vim.tbl_get(client, 'server_capabilities', 'experimental', 'agentHost', 'methods')
  return offered and vim.tbl_contains(offered, method) or false
end

---End the host of a root; `done` is called when it is gone.
function M.stop(root, done)
  local id = ids[root]
  local client = id and vim.lsp.get_client_by_id(id)
  if not client then return done and done() end
  ended[id] = ended[id] or {}
  table.insert(ended[id], done)
  if vim.fn.has('nvim-0.11') == 1 then client:stop() else client.stop() end
end

---End the host of a root and start another; `done` is called with a sentence if that fails.
function M.restart(root, done)
  M.stop(root, function()
    M.with(root, function(_, problem) done(problem) end)
  end)
end

return M
