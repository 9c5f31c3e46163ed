// Makes text of a model or a program harmless to show: no terminal sequences, no invisible or reordering characters.

// CSI, OSC (ended by BEL or ST), other escapes, and what is left of one at the end of a text.
// eslint-disable-next-line no-control-regex
const SEQUENCES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]{0,4096}(?:\u0007|\u001b\\)|[PX^_][^\u001b]{0,4096}\u001b\\|[ -/]*[0-~])|\u009b[0-?]*[ -/]*[@-~]/g;
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
/** They make text read otherwise than it is: bidirectional overrides and isolates. */
const REORDERING = /[\u202a-\u202e\u2066-\u2069]/g;

/** Text without terminal sequences and control characters; a carriage return begins its line again. */
export function plain(text: string): string {
  const bare = text.includes('\u001b') || text.includes('\u009b') ? text.replace(SEQUENCES, '') : text;
  return rewound(bare.replaceAll('\r\n', '\n')).replace(CONTROLS, '').replace(REORDERING, '\ufffd');
}

/** What a terminal shows of lines with carriage returns (progress bars): the last writing. */
function rewound(text: string): string {
  if (!text.includes('\r')) return text;
  return text.split('\n').map((line) => line.replace(/\r+$/, '').split('\r').at(-1) ?? '').join('\n');
}
