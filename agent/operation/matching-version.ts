/** The version of the matching rules and the definition of a score. Every search and resolve response contains both. */

/** Raise this whenever normalisation, retrieval, scoring or the decision changes (contract 1.4). */
export const MATCHING_VERSION = 'ie-names-3'

export const SCORE_DEFINITION =
  'Evidence score from 0 to 1000; not a probability or an assessment of the registry. Equal names 1000; 960 if only the ' +
  'form of the same legal suffix differs, the query has no suffix or more text after it, or no other company has the name ' +
  'with or without "the"; similar names 850 times name_similarity: 849 if only spaces and "and" differ, at most 779 if a ' +
  'short word or a number differs; in a search 501 to 543 for a name that contains every word and much more, 170 for ' +
  'initials; an explicit number 1000. An equal Eircode adds 80, a contained address 40, up to 1000. Matched: at least 900, ' +
  '80 above the next, no contradiction, all candidates examined.'
