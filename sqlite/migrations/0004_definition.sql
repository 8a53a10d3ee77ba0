-- The fingerprint of the agent that began the session ('' is not known): with another one it is not gone on with.
ALTER TABLE flower_sessions ADD COLUMN definition TEXT NOT NULL DEFAULT '';
