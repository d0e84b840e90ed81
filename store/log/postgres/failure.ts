/** Why a database cannot be used, as a fixed text: messages of the server and of the driver can contain names and addresses. */
import { errorCode } from '../../base/error-code.ts'

const FAULTS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'no server listens at its address'],
  ['ENOENT', 'its socket does not exist'],
  ['ENOTFOUND', 'its host name is unknown'],
  ['EAI_AGAIN', 'its host name cannot be resolved now'],
  ['EHOSTUNREACH', 'its host cannot be reached'],
  ['ENETUNREACH', 'its network cannot be reached'],
  ['ETIMEDOUT', 'it did not answer in time'],
  ['ECONNRESET', 'it closed the connection'],
  ['08P01', 'it, or its pooler, refuses a parameter of the URL'],
  ['28P01', 'it refuses the password'],
  ['28000', 'it refuses the user'],
  ['3D000', 'there is no database of this name'],
  ['42501', 'the user lacks a right'],
  ['42P01', 'a table is missing'],
  ['53100', 'its disk is full'],
  ['53300', 'it has too many connections'],
  ['55000', 'it accepts no connections to this database'],
  ['57P01', 'it is stopping'],
  ['57P03', 'it is starting or stopping'],
  ['25006', 'it is read-only'],
])

/** The driver has no codes for its own time limits. */
const TIMEOUT_MESSAGE = /timeout/i

export function describeFailure(cause: unknown): string {
  const code = errorCode(cause)
  if (code !== undefined) return FAULTS.get(code) ?? `error ${code}`
  const isTimeout = cause instanceof Error && TIMEOUT_MESSAGE.test(cause.message)
  return (isTimeout ? FAULTS.get('ETIMEDOUT') : undefined) ?? 'the connection failed'
}
