/** The register of the tests, and the process table that an import receives. */
import { fileURLToPath } from 'node:url'

/** Thirty rows: one quarantined number, one repeated row, equal names, fadas, malformed values and twenty plain companies. */
export const REGISTER = fileURLToPath(new URL(import.meta.resolve('#root/test/fixtures/register.csv')))

export const PROCESSES = { ownPid: process.pid, token: 'test', isRunning: () => true }
