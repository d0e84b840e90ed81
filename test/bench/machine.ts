/** Describes the machine and the day of a run. */
import { cpus } from 'node:os'

export function describeMachine(): string {
  const [cpu] = cpus()
  return `${cpus().length} cores, ${cpu?.model.trim()}, Node.js ${process.version}, ${new Date().toISOString().slice(0, 10)}`
}
