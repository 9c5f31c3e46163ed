-- What the scripts of this folder share: the plugin loaded as a plugin manager would, waiting for
-- things to be seen, and a report. Used as `dofile`; CONFIG.json is the script's argument.
local strict = dofile(vim.fs.dirname(arg[2]) .. '/strict.lua')
local stage = { config = vim.json.decode(assert(io.open(arg[1])):read('a')), notices = {}, seen = {} }

vim.notify = function(words) table.insert(stage.notices, words) end
vim.opt.runtimepath:prepend(stage.config.plugin)
vim.o.hidden = true
vim.cmd('filetype on')
vim.cmd('runtime plugin/agent_host.lua')

function stage.setup(settings)
  strict.watch(stage.config.schema)
  local base = { cmd = stage.config.command, model = stage.config.model }
  require('agent_host').setup(vim.tbl_deep_extend('force', base, settings or {}))
end

function stage.say(name, value) stage.seen[name] = value end

function stage.text(buffer) return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n') end

---What the host's requests and notifications call.
function stage.handlers()
  strict.watch(stage.config.schema)
  return require('agent_host.handlers').table()
end

local seq = 0

---Have the plugin told a delta, as its host would.
function stage.tell(delta, more)
  seq = seq + 1
  local origin = { kind = 'agent', role = 'coder', model = 'm', path = { 'coder' } }
  local params = { sessionId = 's', runId = 'r', seq = seq, origin = origin, delta = delta }
  stage.handlers()['agent/delta'](nil, vim.tbl_extend('force', params, more or {}))
end

---Wait until something is true; `what` is said if it never is.
function stage.wait(what, is_true)
  if vim.wait(20000, is_true, 10) then return end
  local session = package.loaded['agent_host.session']
  local shown = session and session.existing()
  error(('%s never happened\n%s\n%s'):format(what, vim.inspect(stage.notices), shown and stage.text(shown.transcript.buffer) or ''))
end

function stage.session() return require('agent_host.session').current() end

function stage.transcript() return stage.text(stage.session().transcript.buffer) end

function stage.shows(words)
  stage.wait('the transcript shows ' .. words, function()
    return stage.transcript():find(words, 1, true) ~= nil
  end)
end

function stage.idle()
  stage.wait('the end of the run', function() return stage.session():state() == 'idle' end)
end

---Wait for a question and give its window.
function stage.asked()
  local question = require('agent_host.question')
  stage.wait('a question', function() return question.current() and question.current().focus end)
  return question.current()
end

function stage.floats()
  return vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_config(window).relative ~= ''
  end, vim.api.nvim_list_wins())
end

---Type keys as a person would, and let them be handled.
function stage.type(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), 'xt', false)
end

function stage.marks(buffer)
  local found = {}
  for name, space in pairs(vim.api.nvim_get_namespaces()) do
    if vim.startswith(name, 'agent_host') then
      for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true })) do
        for _, piece in ipairs(mark[4].virt_text or {}) do
          table.insert(found, piece[1])
        end
      end
    end
  end
  return table.concat(found, '\n')
end

function stage.finish()
  local client = require('agent_host.client')
  local root = stage.session().root
  local gone = false
  client.stop(root, function() gone = true end)
  stage.wait('the end of the host', function() return gone end)
  stage.say('notices', stage.notices)
  stage.report()
end

---Say what was seen, and end.
function stage.report()
  stage.say('unknown', strict.unknown)
  stage.say('methods', vim.tbl_keys(strict.methods))
  io.stdout:write(vim.json.encode(stage.seen), '\n')
  vim.cmd('qa!')
end

return stage
