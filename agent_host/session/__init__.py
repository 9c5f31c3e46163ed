"""The application: sessions, runs, and the gate that every action passes. Core words only."""
