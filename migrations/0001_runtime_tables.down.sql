-- Why: takes everything of the runtime away, the state of all topologies and their views included.
DROP SCHEMA sr_state CASCADE;
DROP TABLE sr.dead_letter, sr.descriptor, sr.progress, sr.writer, sr.container, sr.operator, sr.topology;
