/** The configuration: the environment, read once and checked (decisions 10). Without any of it the sandbox runs. */
import { resolve } from 'node:path'
import { z } from 'zod'
import { isLoopback, isUrl, mayFetch } from '../store/import/location.ts'
import { isReceiver } from './payments/receiver.ts'

/** Spec 8. */
const RATE_LIMIT_PER_MINUTE = 120
const PORT_DEFAULT = 4021

/** A wrong value. The message is one line that names the variable and the rule; the value itself is not repeated. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

const port = z
  .string()
  .regex(/^[0-9]{1,5}$/, { error: 'must be a port number from 0 to 65535', abort: true })
  .transform(Number)
  .refine((value) => value <= 65_535, 'must be a port number from 0 to 65535')

const positive = z
  .string()
  .regex(/^[1-9][0-9]{0,8}$/, 'must be a whole number above zero')
  .transform(Number)

const url = z.string().refine((value) => URL.canParse(value), { error: 'must be a URL', abort: true })

const baseUrl = url.refine((value) => {
  const { protocol, pathname, search, hash } = new URL(value)
  return ['http:', 'https:'].includes(protocol) && pathname === '/' && !search && !hash && !value.endsWith('/')
}, 'must be http:// or https:// with a host and nothing after it')

const loopbackHttp = url.refine(
  (value) => new URL(value).protocol === 'http:' && isLoopback(new URL(value).hostname),
  'must be an http URL on a loopback address in this version, which has the sandbox only',
)

const dataset = z
  .string()
  .min(1, 'must not be empty')
  .refine(
    (value) => !isUrl(value) || (URL.canParse(value) && mayFetch(new URL(value))),
    'must be a path, an https URL without a password, or an http URL on a loopback address',
  )
  .transform((value) => (isUrl(value) ? value : resolve(value)))

const schema = z.object({
  MODE: z.enum(['testnet', 'mainnet'], { error: 'must be testnet or mainnet' }).default('testnet'),
  FACILITATOR: z.literal('sandbox', { error: 'must be sandbox in this version' }).default('sandbox'),
  RPC_URL: loopbackHttp.optional(),
  PAY_TO: z.string().refine(isReceiver, 'must be an address, lower case or with its checksum, and not zero').optional(),
  HOST: z.string().min(1, 'must not be empty').default('127.0.0.1'),
  PORT: port.default(PORT_DEFAULT),
  BASE_URL: baseUrl.optional(),
  DATA_DIR: z.string().min(1, 'must not be empty').default('./data'),
  DATASET: dataset.optional(),
  RATE_LIMIT_PER_MINUTE: positive.default(RATE_LIMIT_PER_MINUTE),
  A2A_ENABLED: z.enum(['true', 'false'], { error: 'must be true or false' }).default('true'),
  KEYS_DIR: z.string().min(1, 'must not be empty').optional(),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], { error: 'must be a pino level' })
    .default('info'),
})

export type Config = ReturnType<typeof readConfig>

export function readConfig(environment: Record<string, string | undefined>) {
  const parsed = schema.safeParse(environment)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new ConfigError(`${String(issue?.path[0] ?? 'configuration')} ${issue?.message ?? 'is not valid'}`)
  }
  const values = parsed.data
  if (values.MODE === 'mainnet') throw new ConfigError('FACILITATOR must not be sandbox when MODE is mainnet')
  const dataDirectory = resolve(values.DATA_DIR)
  return {
    mode: values.MODE,
    facilitator: values.FACILITATOR,
    rpcUrl: values.RPC_URL,
    payTo: values.PAY_TO,
    host: values.HOST,
    port: values.PORT,
    baseUrl: values.BASE_URL,
    dataDirectory,
    /** A local archive or a URL; the sandbox's sample when absent. */
    dataset: values.DATASET,
    rateLimitPerMinute: values.RATE_LIMIT_PER_MINUTE,
    a2aEnabled: values.A2A_ENABLED === 'true',
    keysDirectory: values.KEYS_DIR === undefined ? resolve(dataDirectory, 'keys') : resolve(values.KEYS_DIR),
    logLevel: values.LOG_LEVEL,
  }
}
