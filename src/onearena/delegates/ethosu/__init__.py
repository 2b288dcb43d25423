"""Ethos-U: what the payloads of `EthosUBackend` say about memory."""
