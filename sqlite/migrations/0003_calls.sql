-- The journal of calls: made with the entry of the answer, started (NULL: not yet) before a tool with effects runs,
-- finished with the entry of the result. Entries that other programs write leave nothing here.
CREATE TABLE flower_calls (
    store_key TEXT NOT NULL,
    call_id   TEXT NOT NULL,
    input     TEXT NOT NULL,
    started   INTEGER,
    finished  INTEGER,
    PRIMARY KEY (store_key, call_id)
) WITHOUT ROWID;
