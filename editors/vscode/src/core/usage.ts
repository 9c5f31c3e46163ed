// Tokens and money for people. Pure.

import type { UsageWire } from '../wire.ts';

export function tokens(count: number): string {
  if (count >= 10_000) return `${Math.round(count / 1000)}k`;
  return count >= 1000 ? `${(count / 1000).toFixed(1)}k` : String(count);
}

export function usageText(usage: UsageWire): string {
  const about = usage.estimated ? '~' : '';
  const cost = typeof usage.costUsd === 'number' ? ` · ${about}$${usage.costUsd.toFixed(usage.costUsd < 0.1 ? 4 : 2)}` : '';
  return `${tokens(usage.inputTokens)} in · ${tokens(usage.outputTokens)} out${cost}`;
}

export function usageDetail(usage: UsageWire): string {
  const requests = `${usage.requests} ${usage.requests === 1 ? 'request' : 'requests'}`;
  return `${requests}\n${usage.inputTokens} tokens in, ${usage.cachedTokens} of them cached\n${usage.outputTokens} tokens out, ${usage.reasoningTokens} of them reasoning${typeof usage.costUsd === 'number' ? '' : '\nthe price is not known'}${usage.estimated ? '\nestimated: a request broke off before it was counted' : ''}`;
}
