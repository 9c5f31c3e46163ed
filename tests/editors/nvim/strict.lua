-- What the host says, as tables that know the host's own schema: whatever the plugin reads of them that
-- is not in it, and whatever comes that is not in it, is noted.
local M = { unknown = {}, methods = {} }

local schema

local function resolved(shape)
  while shape and shape['$ref'] do
    shape = schema['$defs'][shape['$ref']:match('[^/]+$')]
  end
  return shape
end

---The shapes that a value may have, one level down; constants tell which of several it is.
local function shapes_of(value, shape, found)
  found, shape = found or {}, resolved(shape)
  if not shape then return found end
  for _, each in ipairs(shape.anyOf or shape.oneOf or { shape }) do
    each = resolved(each)
    if each.anyOf or each.oneOf then
      shapes_of(value, each, found)
    else
      local fits = true
      for key, property in pairs(each.properties or {}) do
        if property.const ~= nil and value[key] ~= nil and value[key] ~= property.const then fits = false end
      end
      if fits then table.insert(found, each) end
    end
  end
  return found
end

local function note(where)
  if not vim.tbl_contains(M.unknown, where) then table.insert(M.unknown, where) end
end

---A value whose fields are watched; `where` names it.
function M.guard(value, shape, where)
  if type(value) ~= 'table' then return value end
  local known, items, open = {}, nil, true
  for _, each in ipairs(shapes_of(value, shape)) do
    items = items or each.items
    known = vim.tbl_extend('force', known, each.properties or {})
    if each.properties or each.items then open = false end
  end
  if open then return value end
  if items then
    for index, each in ipairs(value) do
      value[index] = M.guard(each, items, where .. '[]')
    end
    return value
  end
  for key, each in pairs(value) do
    if known[key] == nil then note(where .. '.' .. key) end
    value[key] = M.guard(each, known[key], where .. '.' .. key)
  end
  return setmetatable(value, {
    __index = function(_, key)
      if known[key] == nil then note(where .. '.' .. tostring(key)) end
    end,
  })
end

local function watched(method, side) return (schema.methods[method] or {})[side] end

---Watch all that the plugin gets; called before a host is started, and as often as you like.
function M.watch(path)
  if schema then return end
  schema = vim.json.decode(assert(io.open(path)):read('a'))
  local client, handlers = require('agent_host.client'), require('agent_host.handlers')
  local request, own = client.request, handlers.table()
  client.request = function(root, method, params, done)
    M.methods[method] = true
    request(root, method, params, function(problem, answer)
      done(problem, M.guard(answer, watched(method, 'result'), method))
    end)
  end
  handlers.table = function()
    local all = {}
    for method, handle in pairs(own) do
      all[method] = function(err, params, ...)
        M.methods[method] = true
        return handle(err, M.guard(params, watched(method, 'params'), method), ...)
      end
    end
    return all
  end
end

return M
