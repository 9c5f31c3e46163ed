-- Markdown's look in a transcript. While text streams in, a few patterns that are matched on the lines
-- in view; tree-sitter, whose work grows with the whole text, only once nothing moves.
local M = {}

local MOST_LINES = 2000 -- more are left to the patterns

local PATTERNS = {
  [=[syntax clear]=],
  [=[syntax match AgentHostMdHeading /^#\{1,6} .*$/]=],
  [=[syntax match AgentHostMdList /^\s*\%([-*+]\|\d\+[.)]\)\ze\s/]=],
  [=[syntax match AgentHostMdQuote /^\s*>.*$/]=],
  [=[syntax match AgentHostMdCode /`[^`]\+`/]=],
  [=[syntax match AgentHostMdBold /\*\*[^* ][^*]*\*\*/]=],
  [=[syntax match AgentHostMdLink /\[[^]]\+\]([^) ]*)/]=],
  [=[syntax region AgentHostMdBlock start=/^ \{0,3}\z(```\+\|\~\~\~\+\)/ end=/^ \{0,3}\z1\s*$/ keepend]=],
  [=[syntax match AgentHostMdPlain /^[▌▏▎●○].*$/]=],
  [=[syntax sync minlines=120 maxlines=400]=],
}

M.links = {
  AgentHostMdHeading = 'Title',
  AgentHostMdList = 'Special',
  AgentHostMdQuote = 'Comment',
  AgentHostMdCode = 'String',
  AgentHostMdBold = '@markup.strong',
  AgentHostMdLink = 'Underlined',
  AgentHostMdBlock = 'String',
}

---Highlight a buffer by patterns: cheap however long it is.
function M.streaming(buffer)
  if vim.b[buffer].agent_host_look == 'patterns' then return end
  vim.b[buffer].agent_host_look = 'patterns'
  vim.treesitter.stop(buffer)
  vim.bo[buffer].synmaxcol = 1000
  vim.api.nvim_buf_call(buffer, function()
    for _, command in ipairs(PATTERNS) do
      vim.cmd(command)
    end
    vim.b.current_syntax = 'agenthost'
  end)
end

---Highlight a buffer as well as can be.
function M.settled(buffer)
  if vim.api.nvim_buf_line_count(buffer) > MOST_LINES then return M.streaming(buffer) end
  if vim.b[buffer].agent_host_look == 'tree' then return end
  if pcall(vim.treesitter.start, buffer, 'markdown') then
    vim.b[buffer].agent_host_look = 'tree'
  else
    M.streaming(buffer)
  end
end

return M
