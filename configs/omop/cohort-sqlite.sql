-- The cohort of cohort-postgresql.sql for SQLite, whose dates are texts (YYYY-MM-DD).
WITH cohort AS (
  SELECT person_id, min(condition_start_date) AS index_date
  FROM condition_occurrence
  WHERE condition_concept_id = CAST(:condition AS integer) AND condition_start_date >= :since
  GROUP BY person_id
)
SELECT
  c.person_id AS patient,
  CAST(strftime('%Y', c.index_date) AS integer) - p.year_of_birth AS age,
  CASE p.gender_concept_id WHEN 8507 THEN 'male' WHEN 8532 THEN 'female' ELSE 'other' END AS sex,
  (SELECT avg(m.value_as_number) FROM measurement m
   WHERE m.person_id = c.person_id AND m.measurement_concept_id = CAST(:measurement AS integer)
     AND julianday(m.measurement_date) BETWEEN julianday(c.index_date) - CAST(:before AS integer)
                                           AND julianday(c.index_date)) AS measurement,
  (SELECT count(*) FROM visit_occurrence v
   WHERE v.person_id = c.person_id AND julianday(v.visit_start_date) < julianday(c.index_date)
     AND julianday(v.visit_start_date) >= julianday(c.index_date) - CAST(:before AS integer)) AS visits,
  CASE WHEN EXISTS (
    SELECT 1 FROM condition_occurrence o
    WHERE o.person_id = c.person_id AND o.condition_concept_id = CAST(:outcome AS integer)
      AND julianday(o.condition_start_date) > julianday(c.index_date)
      AND julianday(o.condition_start_date) <= julianday(c.index_date) + CAST(:after AS integer))
    THEN 'yes' ELSE 'no' END AS outcome
FROM cohort c
JOIN person p ON p.person_id = c.person_id
