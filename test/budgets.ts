/** What the repository may grow to. A change that needs more takes something away. */

/** Words of all documents that people read, without tables that programs write. */
export const DOCUMENT_WORDS_MAX = 36_000
export const README_WORDS_MAX = 450
/** Lines of TypeScript in `agent`, `rest-facade`, `store` and `keys`. */
export const PRODUCT_LINES_MAX = 32_200
/** Lines of TypeScript in `test`: tests, benchmarks and programs. */
export const TEST_LINES_MAX = 45_930
/** Lines of TypeScript, HTML and CSS in `page`. */
export const PAGE_LINES_MAX = 1_430
export const STYLE_LINES_MAX = 200
/** Exported types and interfaces of the product and the page. */
export const EXPORTED_TYPES_MAX = 220
/** Rules in docs/contract.md. */
export const CONTRACT_RULES_MAX = 171
/** Environment variables of the configuration. */
export const VARIABLES_MAX = 25
/** Folders and files in `agent`. */
export const AGENT_ENTRIES_MAX = 12
