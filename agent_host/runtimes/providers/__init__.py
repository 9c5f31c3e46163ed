"""The vendors of the runtime `sdk`, one file each; only these files know a vendor's SDK."""
