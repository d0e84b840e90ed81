/** Serves the facilitator of `@x402/evm` over HTTP, and prints its URL: RPC_URL, RELAYER_KEY and FACTORIES. */
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import type { Hex } from 'viem'
import { sendJson } from '../support/fault-proxy.ts'
import { listen } from '../support/listen.ts'
import { openReferenceFacilitator } from '../support/reference-facilitator.ts'
import { readArguments } from '../support/arguments.ts'

readArguments('')

const { RPC_URL = '', RELAYER_KEY = '', FACTORIES = '' } = process.env
const facilitator = openReferenceFacilitator({
  rpcUrl: RPC_URL,
  relayerKey: RELAYER_KEY as Hex,
  factories: FACTORIES.split(','),
})
type Call = Parameters<typeof facilitator.settle>

const server = createServer((request, response) => {
  const answer = async () => {
    const { paymentPayload, paymentRequirements } = (await json(request)) as {
      paymentPayload: Call[0]
      paymentRequirements: Call[1]
    }
    const verb = request.url === '/settle' ? 'settle' : 'verify'
    sendJson(response, await facilitator[verb](paymentPayload, paymentRequirements))
  }
  answer().catch(() => response.destroy())
})
process.stdout.write(`ready ${(await listen(server)).url}\n`)
