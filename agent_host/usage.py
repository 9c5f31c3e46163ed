"""What a model's tokens cost, and how many fit into its context.

A price that is not known is None and never 0. Prices come with the package `genai-prices`; nothing
is fetched. It is imported at the first question, which therefore takes a fifth of a second.
"""

from agent_host.core.model import Usage

_PROVIDER_IDS = {"openai": "openai", "anthropic": "anthropic", "gemini": "google"}


def context_window(model: str) -> int | None:
    """How many tokens the context of a model holds; None when that is not known."""
    vendor, _, name = model.partition("/")
    provider = _PROVIDER_IDS.get(vendor)
    if provider is None:
        return None
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, found = get_snapshot().find_provider_model(name, None, provider, None)
    except (LookupError, ValueError):
        return None
    return found.context_window


def price(model: str, usage: Usage) -> float | None:
    """US dollars for `usage` of `model` (`vendor/name`); None when the price is not known."""
    vendor, _, name = model.partition("/")
    provider = _PROVIDER_IDS.get(vendor)
    if provider is None:
        return None
    import genai_prices

    tokens = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
    )
    try:
        found = genai_prices.calc_price(tokens, name, provider_id=provider)
    except (LookupError, ValueError):
        return None
    return float(found.total_price)
