/** The made-up register of the tests, and the processes that an import is told of. */
import { fileURLToPath } from 'node:url'

/** Thirty rows: one quarantined number, one repeated row, twins, fadas, dirt, and twenty plain companies. */
export const REGISTER = fileURLToPath(new URL(import.meta.resolve('#root/test/fixtures/register.csv')))

export const PROCESSES = { own: process.pid, token: 'test', isRunning: () => true }
