-- A cohort of the OMOP common data model (v5.3, v5.4), one row a person: everybody with a condition, from the day on
-- which it was first noted. PostgreSQL. docs/sources.md says how to use it; every :name is a parameter.
--   :condition    concept of the condition (and the date from which it counts, :since)
--   :measurement  concept of a measurement, whose mean over the :before days up to that day is a feature
--   :outcome      concept of the condition that is to be predicted, within :after days
WITH cohort AS (
  SELECT person_id, min(condition_start_date) AS index_date
  FROM condition_occurrence
  WHERE condition_concept_id = CAST(:condition AS integer) AND condition_start_date >= CAST(:since AS date)
  GROUP BY person_id
)
SELECT
  c.person_id AS patient,
  CAST(EXTRACT(YEAR FROM c.index_date) AS integer) - p.year_of_birth AS age,
  CASE p.gender_concept_id WHEN 8507 THEN 'male' WHEN 8532 THEN 'female' ELSE 'other' END AS sex,
  (SELECT avg(m.value_as_number) FROM measurement m
   WHERE m.person_id = c.person_id AND m.measurement_concept_id = CAST(:measurement AS integer)
     AND m.measurement_date BETWEEN c.index_date - CAST(:before AS integer) AND c.index_date) AS measurement,
  (SELECT count(*) FROM visit_occurrence v
   WHERE v.person_id = c.person_id AND v.visit_start_date < c.index_date
     AND v.visit_start_date >= c.index_date - CAST(:before AS integer)) AS visits,
  CASE WHEN EXISTS (
    SELECT 1 FROM condition_occurrence o
    WHERE o.person_id = c.person_id AND o.condition_concept_id = CAST(:outcome AS integer)
      AND o.condition_start_date > c.index_date
      AND o.condition_start_date <= c.index_date + CAST(:after AS integer)) THEN 'yes' ELSE 'no' END AS outcome
FROM cohort c
JOIN person p ON p.person_id = c.person_id
