// Command server is the shop as an MCP server over its standard input and output. It keeps nothing:
// a basket is part of each call.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// product is what the shop sells. Prices are in cents.
type product struct {
	ID       string `json:"product_id"`
	Name     string `json:"name"`
	Category string `json:"category"`
	Price    int    `json:"price_cents"`
	Stock    int    `json:"stock"`
}

func products() []product {
	return []product{
		{"tea-101", "Assam tea, 250 g", "tea", 890, 40},
		{"tea-102", "Green tea, 100 g", "tea", 640, 12},
		{"tea-103", "Assam tea, 1 kg", "tea", 2950, 3},
		{"pot-201", "Glass teapot, 1 litre", "teapot", 3490, 5},
		{"pot-202", "Cast iron teapot, 0.8 litre", "teapot", 7900, 0},
		{"cup-301", "Porcelain cup, blue", "cup", 1250, 24},
		{"cup-302", "Porcelain cup, white", "cup", 1150, 3},
		{"sweet-401", "Rock sugar, 500 g", "sweet", 420, 80},
	}
}

// item is one line of a basket.
type item struct {
	ID       string `json:"product_id" jsonschema:"the product"`
	Quantity int    `json:"quantity" jsonschema:"how many, at least 1"`
}

type search struct {
	Query    string `json:"query" jsonschema:"a part of the name or the category"`
	MaxPrice *int   `json:"max_price_cents,omitempty" jsonschema:"the highest price in cents"`
}

type found struct {
	Products []product `json:"products"`
}

type one struct {
	ID string `json:"product_id" jsonschema:"the product"`
}

type basket struct {
	Items   []item `json:"items" jsonschema:"what is in the basket"`
	Voucher string `json:"voucher,omitempty" jsonschema:"the code of a voucher"`
}

type order struct {
	basket

	Delivery string `json:"delivery" jsonschema:"standard (3 days, 490 cents, free from 5000) or express (tomorrow, 990 cents)"`
	Address  string `json:"address" jsonschema:"where it goes"`
}

type total struct {
	Goods    int    `json:"goods_cents"`
	Discount int    `json:"discount_cents"`
	Delivery int    `json:"delivery_cents"`
	Total    int    `json:"total_cents"`
	Order    string `json:"order_id,omitempty"`
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // it is in main
	}
}

func run(ctx context.Context) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	add(s, "search_products", "Finds products of the shop by name or category.", searchProducts)
	add(s, "get_product", "Tells price and stock of a product.", getProduct)
	add(s, "price_basket", "Tells what a basket costs without delivery. Nothing is ordered.", priceBasket)
	add(s, "place_order", "Orders a basket. It cannot be taken back.", placeOrder)
	return s.Run(ctx, &mcp.StdioTransport{})
}

// add adds a tool whose errors are what the model reads.
func add[In, Out any](s *mcp.Server, name, description string, answer func(In) (Out, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description}, func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := answer(in)
		return nil, out, err
	})
}

func searchProducts(in search) (found, error) {
	out := found{Products: []product{}}
	for _, p := range products() {
		text := strings.ToLower(p.Name + " " + p.Category)
		if strings.Contains(text, strings.ToLower(strings.TrimSpace(in.Query))) && (in.MaxPrice == nil || p.Price <= *in.MaxPrice) {
			out.Products = append(out.Products, p)
		}
	}
	return out, nil
}

func getProduct(in one) (product, error) {
	for _, p := range products() {
		if p.ID == in.ID {
			return p, nil
		}
	}
	return product{}, fmt.Errorf("there is no product %q", in.ID)
}

func priceBasket(in basket) (total, error) {
	out := total{}
	if len(in.Items) == 0 {
		return out, fmt.Errorf("the basket is empty")
	}
	for _, i := range in.Items {
		p, err := getProduct(one{i.ID})
		switch {
		case err != nil:
			return total{}, err
		case i.Quantity < 1:
			return total{}, fmt.Errorf("the quantity of %s is %d, expected at least 1", i.ID, i.Quantity)
		case i.Quantity > p.Stock:
			return total{}, fmt.Errorf("there are only %d of %s in stock", p.Stock, i.ID)
		}
		out.Goods += i.Quantity * p.Price
	}
	switch in.Voucher {
	case "":
	case "TEATIME10":
		out.Discount = out.Goods / 10
	default:
		return total{}, fmt.Errorf("the voucher %q is not valid", in.Voucher)
	}
	out.Total = out.Goods - out.Discount
	return out, nil
}

func placeOrder(in order) (total, error) {
	out, err := priceBasket(in.basket)
	if err != nil {
		return total{}, err
	}
	switch in.Delivery {
	case "standard":
		if out.Total < 5000 {
			out.Delivery = 490
		}
	case "express":
		out.Delivery = 990
	default:
		return total{}, fmt.Errorf("there is no delivery %q, only standard and express", in.Delivery)
	}
	out.Total += out.Delivery
	raw, err := json.Marshal(in)
	if err != nil {
		return total{}, err
	}
	sum := sha256.Sum256(raw)
	out.Order = "T-" + strings.ToUpper(hex.EncodeToString(sum[:3]))
	return out, nil
}
