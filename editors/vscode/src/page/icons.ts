// The view's own small pictures, as inline SVG: nothing is loaded, and they take the colour of the text.

const PATHS = {
  agent: 'M3 2.5h10a1.5 1.5 0 0 1 1.5 1.5v6.5A1.5 1.5 0 0 1 13 12H8.5L5 14.5V12H3a1.5 1.5 0 0 1-1.5-1.5V4A1.5 1.5 0 0 1 3 2.5zM5 6l2 1.6L5 9.2M8.5 9.2h2.5',
  asks: 'M8 1.8a6.2 6.2 0 1 1 0 12.4A6.2 6.2 0 0 1 8 1.8zM6.2 6.3a1.8 1.8 0 1 1 2.6 1.6c-.5.3-.8.6-.8 1.2M8 11.2v.1',
  at: 'M10.5 8a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0zm0 0v.9a1.6 1.6 0 0 0 3.2 0V8A5.7 5.7 0 1 0 11 12.9',
  check: 'M3 8.5l3.2 3.2L13 4.8',
  chevron: 'M6 4l4 4-4 4',
  copy: 'M5.5 5.5h7v8h-7zM3.5 10.5v-8h7',
  cross: 'M4 4l8 8M12 4l-8 8',
  denied: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM3.9 3.9l8.2 8.2',
  diff: 'M8 2.5v6M5 5.5h6M5 13h6',
  down: 'M8 3v10M4 9l4 4 4-4',
  edit: 'M10.7 2.8l2.5 2.5-7.4 7.4-3.1.6.6-3.1z',
  elsewhere: 'M6.5 3H3v10h10V9.5M9 2.5h4.5V7M13.2 2.8L7.5 8.5',
  file: 'M4 1.8h5l3 3v9.4H4zM9 1.8v3h3',
  fork: 'M4.5 4.5v3a2 2 0 0 0 2 2h3a2 2 0 0 0 2-2v-3M8 9.5v2.5M4.5 4.5a1.2 1.2 0 1 0 0-.1M11.5 4.5a1.2 1.2 0 1 0 0-.1M8 13.4a1.2 1.2 0 1 0 0-.1',
  key: 'M10.5 2.2a3.3 3.3 0 1 1-2.3 5.6L2.8 13.2H2v-2.4h2V9h2l1.5-1.5a3.3 3.3 0 0 1 3-5.3z',
  plan: 'M6 4h8M6 8h8M6 12h8M2.2 4h.6M2.2 8h.6M2.2 12h.6',
  plus: 'M8 3.5v9M3.5 8h9',
  queue: 'M2 4h9M2 8h6M2 12h6M12.5 8v5M10.5 11l2 2 2-2',
  retry: 'M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3',
  revert: 'M3 6.5h6a3.5 3.5 0 0 1 0 7H6M3 6.5l3-3M3 6.5l3 3',
  search: 'M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.3 10.3L14 14',
  send: 'M8 13V3M3.5 7.5L8 3l4.5 4.5',
  skill: 'M8 1.5l1.6 4.3L14 7.5l-4.4 1.7L8 13.5 6.4 9.2 2 7.5l4.4-1.7z',
  stop: 'M4.5 4.5h7v7h-7z',
  terminal: 'M2 3h12v10H2zM4.5 6l2 2-2 2M8 10.2h3',
  think: 'M5.6 11.5c0-1.4-2.1-2.2-2.1-5a4.5 4.5 0 0 1 9 0c0 2.8-2.1 3.6-2.1 5zM6 14h4',
  tool: 'M9.5 6.5a3.4 3.4 0 0 1 4.3-4.2l-2 2 .8 1.5 1.5.5 1.8-1.8M9.5 6.5L3 13M9.5 6.5c1 1 2 1.4 3.4 1',
  trash: 'M2.5 4h11M6 4V2.5h4V4M4 4l.7 9.5h6.6L12 4M6.7 6.5v4.5M9.3 6.5v4.5',
  warning: 'M8 2l6.3 11.5H1.7zM8 6.3v3.4M8 11.6v.1',
} as const;

export type IconName = keyof typeof PATHS;

const SVG = 'http://www.w3.org/2000/svg';

/** A picture of 16 by 16 that says nothing by itself. */
export function icon(name: IconName): SVGSVGElement {
  const made = document.createElementNS(SVG, 'svg');
  for (const [key, value] of Object.entries({ viewBox: '0 0 16 16', class: `icon icon-${name}`, 'aria-hidden': 'true' })) made.setAttribute(key, value);
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', PATHS[name]);
  made.append(path);
  return made;
}

/** What a tool does, by its name. */
export function toolIcon(name: string): IconName {
  if (/terminal|command|bash|shell|exec/i.test(name)) return 'terminal';
  if (/delete|remove/i.test(name)) return 'trash';
  if (/write|edit|patch|create/i.test(name)) return 'edit';
  if (/search|grep|find|glob|list/i.test(name)) return 'search';
  if (/read|open|file/i.test(name)) return 'file';
  if (/skill/i.test(name)) return 'skill';
  if (/agent/i.test(name)) return 'agent';
  return name === 'question' ? 'asks' : 'tool';
}
