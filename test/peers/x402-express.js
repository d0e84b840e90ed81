/**
 * `@x402/express` as its documentation shows it, with the facilitator at a URL. It verifies no signature, asks no chain and
 * writes nothing. Run by `fork` with the payment terms and the response body as JSON; sends its URL to the parent.
 */
import { createServer } from 'node:http'
import { HTTPFacilitatorClient, x402ResourceServer } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware } from '@x402/express'
import express from 'express'

const { facilitator, network, payTo, price, body } = JSON.parse(process.argv[2] ?? '{}')
const resources = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitator })).register(
  network,
  new ExactEvmScheme(),
)
const accepts = { scheme: 'exact', network, payTo, price, maxTimeoutSeconds: 300 }
const app = express()
app.use(paymentMiddleware({ 'GET /api/v1/company/[number]': { accepts, description: '', mimeType: '' } }, resources))
app.get('/api/v1/company/:number', (_request, response) => response.json(body))
const server = createServer(app)
server.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${server.address().port}`))
process.on('SIGTERM', () => process.exit())
