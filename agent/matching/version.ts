/** The version of the matching rules and the definition of a score. Every search and resolve response contains both. */

/** Raise this whenever normalisation, retrieval, scoring or the decision changes (contract 9.3). */
export const MATCHING_VERSION = 'ie-names-2'

export const SCORE_DEFINITION =
  'Evidence score from 0 to 1000; not a probability and not an assessment of the registry. Equal names 1000; 960 if only ' +
  'the form of the same legal suffix differs, the query has no suffix or more text after it, or no other company has the ' +
  'name without spaces and "and"; similar names 850 times name_similarity, rounded down; an explicit company number 1000. ' +
  'An equal Eircode adds 80, a contained address fragment 40, up to 1000. A resolution is matched from 900 on when the ' +
  'next candidate is at least 80 behind, nothing contradicts it and every candidate was examined.'
