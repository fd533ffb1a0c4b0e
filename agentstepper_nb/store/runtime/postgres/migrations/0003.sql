-- The number of each writer's last committed write: a thread of a Core whose commit's answer was lost finds there
-- whether the write counts. Rows stay short and are updated by every write: free space keeps updates in their page.
CREATE TABLE last_writes (
    writer text PRIMARY KEY,
    number bigint NOT NULL,        -- from 1; 0 is none
    noted_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 10);
