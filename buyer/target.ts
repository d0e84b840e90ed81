/** What the commands of the buyer are for: the service, the key and the limits that their options name. */
import { join } from 'node:path'
import { Option, type Command } from 'commander'
import { DEPLOYMENTS, type Mode } from '../agent/payment/terms.ts'
import { openAuthorizationCheck } from './library/authorization-state.ts'
import { parsing } from './arguments.ts'
import type { CommandContext, FindService } from '../agent/command-line/context.ts'
import { toBaseUrl } from './library/purchase-request.ts'

/** What the actions of the commands run with. */
export interface Client {
  context: CommandContext
  findService?: FindService | undefined
}

export const parseBaseUrl = parsing(toBaseUrl)
export const modeOption = () => new Option('--mode <mode>', 'the network to pay on').choices(['testnet', 'mainnet'])

interface ClientOptions extends Partial<Record<'url' | 'keyFile' | 'a2aUrl' | 'rpc', string>> {
  /** Determines network, asset and domain, whatever the service says. */
  mode?: Mode
  maxAmount?: number
  maxPerDay?: number
  newPayment?: boolean
  a2a?: boolean
  json?: boolean
  verbose?: boolean
}

export type Target = Awaited<ReturnType<typeof readTarget>>

/** Ends the command as with wrong arguments. */
export const refuse = (command: Command, fault: string): never => command.error(`error: ${fault}`)

/** Only hosts that no shell reads as a command, because the other party has chosen the URL. */
const SAFE_ORIGIN = /^https?:\/\/[\w.:[\]-]+$/

/** The advice for a service that names another URL than that of the command. */
export const describeOtherUrl = (origin: string): string | undefined =>
  SAFE_ORIGIN.test(origin)
    ? `The service names its URL as ${origin}: if that is the right one, add --url ${origin}.`
    : undefined

/** @param needs what ends the command if it is missing */
export async function readTarget(
  command: Command,
  { context, findService }: Client,
  ...needs: readonly ('url' | 'keyFile')[]
) {
  const service = await findService?.(context)
  const options = command.optsWithGlobals<ClientOptions>()
  const { url = service?.url, mode = service?.mode ?? 'testnet', rpc, ...others } = options
  const { maxAmount: amountMax, maxPerDay: amountPerDayMax } = options
  const { keyFile = service && join(service.dataDirectory, 'sandbox', 'buyer.key') } = options
  if (url === undefined && needs.includes('url')) refuse(command, "option '--url' is required")
  if (keyFile === undefined && needs.includes('keyFile')) refuse(command, "option '--key-file' is required")
  const node = rpc === undefined ? undefined : { url: rpc, asset: DEPLOYMENTS[mode].asset }
  return {
    ...others,
    mode,
    amountMax,
    amountPerDayMax,
    baseUrl: url ?? '',
    keyFile: keyFile ?? '',
    readAuthorization: node && openAuthorizationCheck(context.fetch, node),
    purchasesDirectory: join(service?.dataDirectory ?? '.', 'purchases'),
  }
}
