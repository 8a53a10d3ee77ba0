-- Times are milliseconds since 1970.

-- Where a session was started ('' is not known) and the prefix of its requests (NULL until it is set).
CREATE TABLE flower_sessions (
    store_key TEXT PRIMARY KEY,
    workspace TEXT NOT NULL,
    system    TEXT,
    tools     TEXT,
    created   INTEGER NOT NULL
);
CREATE TABLE flower_inbox (
    id        TEXT PRIMARY KEY,
    project   TEXT NOT NULL,
    text      TEXT NOT NULL,
    at        INTEGER NOT NULL,
    delivered INTEGER
);
CREATE INDEX flower_inbox_pending ON flower_inbox (project) WHERE delivered IS NULL;
CREATE TABLE flower_answers (
    call_id TEXT PRIMARY KEY,
    answer  TEXT NOT NULL,
    at      INTEGER NOT NULL
);
