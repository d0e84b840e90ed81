/** What the repository may grow to. A change that needs more takes something away. */

/** Words of all documents that people read, without tables that programs write. */
export const DOCUMENT_WORDS_MAX = 33_000
export const README_WORDS_MAX = 450
/** Rules in docs/contract.md, each of at most 45 words, so that a reader takes in one at a time. */
export const CONTRACT_RULES_MAX = 250
/** Environment variables of the configuration. */
export const VARIABLES_MAX = 25
/** Folders and files in `agent`. */
export const AGENT_ENTRIES_MAX = 12
