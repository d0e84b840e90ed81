/** The register of the tests. */
import { fileURLToPath } from 'node:url'

/**
 * Thirty rows: one quarantined number, one repeated row, equal names, fadas, malformed values and twenty plain
 * companies.
 */
export const REGISTER = fileURLToPath(new URL(import.meta.resolve('#root/test/fixtures/register.csv')))
