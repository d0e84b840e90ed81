/** Which rules made a result, and what its scores mean: both go with every search and resolution. */

/** Raised whenever normalisation, retrieval, scoring or the decision changes. */
export const MATCHING_VERSION = 'ie-names-1'

export const SCORE_DEFINITION =
  'Evidence score from 0 to 1000; not a probability and not an assessment of the registry. Equal names 1000; equal ' +
  'names but for the form of the same legal suffix, or without a suffix in the query, 960; similar names 850 times ' +
  'name_similarity, rounded down; an explicit company number 1000. An equal Eircode adds 80, a contained address ' +
  'fragment 40, up to 1000. A resolution is matched from 900 on when the next candidate is at least 80 behind, nothing ' +
  'contradicts it and every candidate was examined.'
