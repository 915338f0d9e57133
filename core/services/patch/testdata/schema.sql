-- Accounts and what they own.
-- Every table has a surrogate key.
CREATE TABLE account (
    id      BIGINT PRIMARY KEY,
    name    TEXT NOT NULL,      -- shown to people
    created TIMESTAMP NOT NULL
);

-- Old rows are moved, not deleted.
CREATE TABLE archive (
    id      BIGINT PRIMARY KEY,
    name    TEXT NOT NULL,      -- shown to people
    created TIMESTAMP NOT NULL
);

-- drop the view before the table
DROP VIEW IF EXISTS recent;
DROP TABLE IF EXISTS recent_cache;
--
-- Counters
--
CREATE TABLE counter (
    name  TEXT PRIMARY KEY,
    value BIGINT NOT NULL DEFAULT 0
);

INSERT INTO counter (name, value) VALUES ('logins', 0);
INSERT INTO counter (name, value) VALUES ('errors', 0);
INSERT INTO counter (name, value) VALUES ('orders', 0);
-- end of file
