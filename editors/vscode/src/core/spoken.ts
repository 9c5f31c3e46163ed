// Markdown as text alone, for the editor's own dialogs, which show none. Pure.

import { parse, type Block, type Inline } from './markdown.ts';

export function spoken(markdown: string): string {
  return parse(markdown).map(ofBlock).filter(Boolean).join('\n\n');
}

function ofBlock(block: Block): string {
  switch (block.kind) {
    case 'paragraph':
    case 'heading':
      return ofInlines(block.content);
    case 'code':
      return block.text.replace(/\n$/, '');
    case 'quote':
      return block.blocks.map(ofBlock).join('\n');
    case 'list':
      return block.items.map(({ blocks }) => `• ${blocks.map(ofBlock).join('\n')}`).join('\n');
    case 'table':
      return [block.head, ...block.rows].map((row) => row.map(ofInlines).join(' | ')).join('\n');
    case 'rule':
      return '';
  }
}

function ofInlines(content: Inline[]): string {
  return content.map((each) => ('text' in each ? each.text : each.kind === 'break' ? '\n' : ofInlines(each.content))).join('');
}
